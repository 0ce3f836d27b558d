// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/trellis-network/trellis/internal/controller/heartbeat"
	"github.com/trellis-network/trellis/internal/pod"
)

// RBAC cannot restrict create to names. An operator with another name needs a role with the name of its Lease.
// The election writes events of the core API.
//
// +kubebuilder:rbac:roleName=gardener/namespace,groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:roleName=gardener/namespace,groups=coordination.k8s.io,resources=leases,resourceNames=trellis-operator,verbs=get;update
// +kubebuilder:rbac:roleName=gardener/namespace,groups="",resources=events,verbs=create
// +kubebuilder:rbac:roleName=standalone/namespace,groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:roleName=standalone/namespace,groups=coordination.k8s.io,resources=leases,resourceNames=trellis-operator,verbs=get;update
// +kubebuilder:rbac:roleName=standalone/namespace,groups="",resources=events,verbs=create

// elect sets the settings of the election in a manager's options. A program that embeds
// the operator must end its process once Run has returned: the manager releases the Lease,
// so that the next leader need not wait until it expires.
func (o *Options) elect(options *manager.Options) error {
	election := &o.Config.LeaderElection
	namespace := cmp.Or(election.ResourceNamespace, pod.Namespace())
	wanted := namespace != ""
	if election.LeaderElect != nil {
		wanted = *election.LeaderElect
	}
	if wanted && namespace == "" {
		return errors.New("the configuration is invalid: leaderElection.resourceNamespace: Required value: " +
			"the operator does not run in a pod, whose namespace it would use; set it, or set leaderElection.leaderElect to false")
	}
	options.LeaderElection = wanted
	options.LeaderElectionID = cmp.Or(election.ResourceName, o.Name)
	options.LeaderElectionNamespace = namespace
	options.LeaderElectionReleaseOnCancel = true
	options.LeaseDuration = &election.LeaseDuration.Duration
	options.RenewDeadline = &election.RenewDeadline.Duration
	options.RetryPeriod = &election.RetryPeriod.Duration
	return nil
}

// addHeartbeat adds the heartbeat that a gardenlet expects, if its namespace is known.
func (o *Options) addHeartbeat(mgr ctrl.Manager) error {
	settings := &o.Config.Heartbeat
	namespace := cmp.Or(settings.Namespace, pod.Namespace())
	if namespace == "" {
		o.Log.Info("The heartbeat is disabled: heartbeat.namespace is not set, and the operator does not run in a pod")
		return nil
	}
	return mgr.Add(&heartbeat.Heartbeat{
		Client: mgr.GetClient(), Namespace: namespace, ExtensionName: settings.ExtensionName,
		Interval: settings.RenewInterval.Duration, Clock: o.Clock,
	})
}
