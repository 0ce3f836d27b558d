// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"errors"
	"os"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/heartbeat"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create
// The election's own events are of the older kind.
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=trellis-operator,verbs=get;update

// namespaceFile is where a pod finds the name of its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace is the namespace that the operator runs in, or nothing outside of
// a cluster. The variable is the one that Gardener's extensions are given.
func ownNamespace() string {
	if namespace := os.Getenv("LEADER_ELECTION_NAMESPACE"); namespace != "" {
		return namespace
	}
	content, _ := os.ReadFile(namespaceFile)
	return strings.TrimSpace(string(content))
}

// elect puts the settings of the election into a manager's options. Whoever
// embeds the operator has to leave the process once Run has returned: the Lease
// is given up at once, so that the next leader need not wait for it to expire.
func elect(options *manager.Options, election *configv1alpha1.LeaderElection) error {
	namespace := cmp.Or(election.ResourceNamespace, ownNamespace())
	wanted := namespace != ""
	if election.LeaderElect != nil {
		wanted = *election.LeaderElect
	}
	if wanted && namespace == "" {
		return errors.New("the configuration is invalid: leaderElection.resourceNamespace: Required value: " +
			"the operator does not run in a pod, whose namespace it could take; set it, or set leaderElection.leaderElect to false")
	}
	options.LeaderElection = wanted
	options.LeaderElectionID = election.ResourceName
	options.LeaderElectionNamespace = namespace
	options.LeaderElectionReleaseOnCancel = true
	options.LeaseDuration = &election.LeaseDuration.Duration
	options.RenewDeadline = &election.RenewDeadline.Duration
	options.RetryPeriod = &election.RetryPeriod.Duration
	return nil
}

// addHeartbeat adds the heartbeat that a gardenlet looks for, where its namespace
// is known.
func (o *Options) addHeartbeat(mgr ctrl.Manager) error {
	settings := &o.Config.Heartbeat
	namespace := cmp.Or(settings.Namespace, ownNamespace())
	if namespace == "" {
		o.Log.Info("There is no heartbeat: heartbeat.namespace is not set, and the operator does not run in a pod")
		return nil
	}
	return mgr.Add(&heartbeat.Heartbeat{
		Client: mgr.GetClient(), Namespace: namespace, ExtensionName: settings.ExtensionName,
		Interval: settings.RenewInterval.Duration, Clock: o.Clock,
	})
}
