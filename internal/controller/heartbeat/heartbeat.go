// SPDX-License-Identifier: Apache-2.0

// Package heartbeat renews the Lease of an extension. A gardenlet trusts what the
// extension reports only while the Lease is fresh (Gardener contract, N32).
//
// It refuses to know whether the extension does its work well: it runs beside the
// controllers, in the leader.
package heartbeat

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// LeaseName is the name by which a gardenlet looks for an extension's heartbeat,
// in the namespace that it has installed the extension into.
const LeaseName = "gardener-extension-heartbeat"

// Heartbeat renews the Lease while it runs. It is a manager's Runnable, for the
// leader only.
type Heartbeat struct {
	// Client writes the Lease.
	Client client.Client
	// Namespace is that of the Lease.
	Namespace string
	// ExtensionName is the holder's identity.
	ExtensionName string
	// Interval is the time between two renewals, in whole seconds.
	Interval time.Duration
	// Clock gives the time.
	Clock clock.WithTicker
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (h *Heartbeat) NeedLeaderElection() bool { return true }

// Start renews the Lease until ctx ends. If a renewal fails, the next one makes up for
// it, since the gardenlet tolerates several missing renewals.
func (h *Heartbeat) Start(ctx context.Context) error {
	ticker := h.Clock.NewTicker(h.Interval)
	defer ticker.Stop()
	for {
		if err := h.renew(ctx); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).Error(err, "The heartbeat's Lease was not renewed", "namespace", h.Namespace)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// +kubebuilder:rbac:roleName=gardener/namespace,groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:roleName=gardener/namespace,groups=coordination.k8s.io,resources=leases,resourceNames=gardener-extension-heartbeat,verbs=patch

// renew patches the Lease and makes it if it is not there, so that an operator
// needs no right to read Leases.
func (h *Heartbeat) renew(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: LeaseName, Namespace: h.Namespace}}
	beat := lease.DeepCopy()
	beat.Spec = coordinationv1.LeaseSpec{
		HolderIdentity:       &h.ExtensionName,
		LeaseDurationSeconds: ptr.To(int32(h.Interval / time.Second)),
		RenewTime:            &metav1.MicroTime{Time: h.Clock.Now()},
	}
	err := h.Client.Patch(ctx, beat.DeepCopy(), client.MergeFrom(lease))
	if apierrors.IsNotFound(err) {
		err = h.Client.Create(ctx, beat)
	}
	if err != nil {
		return fmt.Errorf("renew the Lease %s: %w", LeaseName, err)
	}
	return nil
}
