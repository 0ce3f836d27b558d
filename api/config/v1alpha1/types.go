// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the operator's configuration file, an OperatorConfiguration of
// config.trellis.network/v1alpha1.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// GroupVersion is the API group and version of the configuration file.
var GroupVersion = schema.GroupVersion{Group: "config.trellis.network", Version: "v1alpha1"}

// OperatorConfigurationKind is the kind of the configuration file.
const OperatorConfigurationKind = "OperatorConfiguration"

// Mode is the way in which the operator runs.
type Mode string

const (
	// ModeGardener leaves Shoots, Clusters and the objects in shoots to Gardener. The
	// operation annotation triggers reconciliations.
	ModeGardener Mode = "Gardener"
	// ModeStandalone does without Gardener. A new generation triggers reconciliations.
	ModeStandalone Mode = "Standalone"
)

// OperatorConfiguration is the configuration file of the operator. All fields are
// optional. docs/operator-configuration.md is generated from the comments in this file.
type OperatorConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// Mode is the way in which the operator runs. Without it the operator runs standalone
	// where the API server has Shoots as a custom resource, and otherwise as a part of
	// Gardener, which serves Shoots from an API server of its own. To detect that, it needs
	// the rights in config/rbac/detection.
	Mode Mode `json:"mode,omitempty"`
	// ClientConnection limits the requests to the seed's API server.
	ClientConnection ClientConnection `json:"clientConnection,omitempty"`
	// ShootClientConnection limits the connections to the API server of each shoot.
	ShootClientConnection ShootClientConnection `json:"shootClientConnection,omitempty"`
	// Metrics is the address of /metrics.
	Metrics Endpoint `json:"metrics,omitempty"`
	// HealthProbes is the address of /healthz and /readyz.
	HealthProbes Endpoint `json:"healthProbes,omitempty"`
	// Webhooks are the settings of the webhooks that the API servers of shoots call.
	Webhooks Webhooks `json:"webhooks,omitempty"`
	// LeaderElection selects the one of several replicas that reconciles.
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`
	// Heartbeat shows a gardenlet that the operator runs.
	Heartbeat Heartbeat `json:"heartbeat,omitempty"`
	// Controllers are the settings of the controllers.
	Controllers Controllers `json:"controllers,omitempty"`
	// FeatureGates switches features of the plugins, by name. With a name that no plugin
	// has the operator does not start; `trellis render --help` lists the names.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Images replaces container images, by the name in the images.yaml of a plugin, or
	// trellis-probe. With another name, or with what is no reference with a tag or digest, the
	// operator does not start.
	Images map[string]string `json:"images,omitempty"`
	// ConnectivityProbe are the settings of the probe that Trellis adds to each network.
	ConnectivityProbe ConnectivityProbe `json:"connectivityProbe,omitempty"`
	// Infrastructures are the types of infrastructure, as in spec.provider.type of Shoots, for
	// which the seed has controllers of Infrastructures and ControlPlanes, standalone only. A
	// Shoot of one of these types with an infrastructureConfig gets an Infrastructure before its
	// Network, and a ControlPlane after it. It needs the rights in config/rbac/infrastructure.
	Infrastructures []string `json:"infrastructures,omitempty"`
	// ControlPlane are the settings of what the operator adapts in control planes of shoots.
	ControlPlane ControlPlane `json:"controlPlane,omitempty"`
	// PodRoutes are the infrastructures in whose route tables the operator makes routes to the pods
	// of nodes, for clusters that ask for it (docs/routes.md). Use it only where nothing else makes
	// them.
	PodRoutes []PodRoutes `json:"podRoutes,omitempty"`
	// DumpRequests is an existing folder. The operator writes the input of the pipeline for
	// each Network there; `trellis render --request` renders it again. A Request that cannot
	// be written is named in the log, and the Network is reconciled without it.
	DumpRequests string `json:"dumpRequests,omitempty"`
	// Debugging are the settings of what shows where the operator's time and memory go.
	Debugging Debugging `json:"debugging,omitempty"`
}

// Debugging are the settings of what shows where the operator's time and memory go. The field is that of
// Kubernetes' own components.
type Debugging struct {
	// EnableProfiling serves Go's profiles under /debug/pprof/ on metrics.bindAddress. They contain
	// no Secrets, but who reaches the address can make the operator slower with them.
	EnableProfiling bool `json:"enableProfiling,omitempty"`
}

// ClientConnection limits the requests to an API server.
type ClientConnection struct {
	// QPS is the average number of requests a second.
	QPS float32 `json:"qps,omitempty"`
	// Burst is the number of requests that may exceed the average at once.
	Burst int `json:"burst,omitempty"`
}

// ShootClientConnection limits the connections to the API servers of shoots.
type ShootClientConnection struct {
	ClientConnection `json:",inline"`

	// AllowedAddresses are ranges such as 127.0.0.0/8 in which API servers of shoots may be,
	// although the operator refuses them by default: loopback, link-local and multicast
	// addresses, those of the metadata services of infrastructures, and local NAT64.
	AllowedAddresses []string `json:"allowedAddresses,omitempty"`
}

// Endpoint is an address that the operator serves.
type Endpoint struct {
	// BindAddress has the form host:port; "0" serves nothing.
	BindAddress string `json:"bindAddress,omitempty"`
}

// Webhooks are the settings of the operator's webhooks. It serves them if URL, ServiceName or both
// state how API servers reach them.
type Webhooks struct {
	// BindAddress has the form host:port; "0" serves nothing.
	BindAddress string `json:"bindAddress,omitempty"`
	// URL is the beginning of the webhooks' addresses, as the API servers of shoots reach
	// them, and without serviceName also that of the seed: https, a host, optionally a port
	// and a path. Without it and serviceName there are no webhooks.
	URL string `json:"url,omitempty"`
	// ServiceName is the name of a Service in the operator's namespace that forwards port
	// 443 to bindAddress. The seed's API server calls the webhooks through it. So do, without
	// url, those of shoots in a Gardener landscape, where they run in the seed; elsewhere
	// they call none.
	ServiceName string `json:"serviceName,omitempty"`
	// SecretName is the name of the Secret with the certificates, which all replicas share.
	// Without it that is the operator's name, with -webhooks instead of -operator:
	// trellis-webhooks.
	SecretName string `json:"secretName,omitempty"`
	// Namespace is the namespace of the Secret and of the Service. Without it that is the
	// namespace of the operator's pod.
	Namespace string `json:"namespace,omitempty"`
	// Networks lets the operator change Networks on their way to the seed as Gardener's
	// extensions for infrastructures do: Networks of Calico get backend none on Azure. Trellis
	// needs no such change itself. It needs the rights in config/rbac/networks, and
	// serviceName or url.
	Networks bool `json:"networks,omitempty"`
}

// LeaderElection are the settings of the Lease by which one of several replicas
// becomes the leader. The fields are those of Kubernetes' own components.
type LeaderElection struct {
	// LeaderElect switches the election on or off. Without it there is an election if the
	// namespace for its Lease is known: resourceNamespace, or that of the pod.
	LeaderElect *bool `json:"leaderElect,omitempty"`
	// LeaseDuration is how long the other replicas wait for a leader that does not renew
	// the Lease.
	LeaseDuration metav1.Duration `json:"leaseDuration,omitempty"`
	// RenewDeadline is the time after which a leader that cannot renew the Lease stops. It
	// must be less than leaseDuration.
	RenewDeadline metav1.Duration `json:"renewDeadline,omitempty"`
	// RetryPeriod is the time between two attempts. It must be less than renewDeadline.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitempty"`
	// ResourceName is the name of the Lease. Without it that is the operator's name:
	// trellis-operator. The operator's rights allow no other Lease.
	ResourceName string `json:"resourceName,omitempty"`
	// ResourceNamespace is the namespace of the Lease. Without it that is the namespace of
	// the operator's pod.
	ResourceNamespace string `json:"resourceNamespace,omitempty"`
}

// Heartbeat are the settings of the Lease gardener-extension-heartbeat. By its age a
// gardenlet decides whether the conditions that an extension reports are current. Only
// the leader renews it, and only in a Gardener landscape.
type Heartbeat struct {
	// RenewInterval is the time between two renewals.
	RenewInterval metav1.Duration `json:"renewInterval,omitempty"`
	// ExtensionName is the holder of the Lease: the name of the extension's
	// ControllerRegistration.
	ExtensionName string `json:"extensionName,omitempty"`
	// Namespace is the namespace of the Lease. Without it that is the namespace of the
	// operator's pod, and outside of a pod there is no heartbeat.
	Namespace string `json:"namespace,omitempty"`
}

// ConnectivityProbe are the settings of the probe, a DaemonSet in each shoot that tests whether
// pods reach each other, their nodes, Services and DNS.
type ConnectivityProbe struct {
	// Disabled leaves the probe out of all networks. The annotation
	// trellis.network/connectivity-probe with the value false leaves it out of one, on the
	// Network or the Shoot.
	Disabled bool `json:"disabled,omitempty"`
	// OutsideTarget is a host:port outside of the shoots to which the probes open a TCP
	// connection every ten seconds. Without it nothing outside is tested.
	OutsideTarget string `json:"outsideTarget,omitempty"`
}

// ControlPlane are the settings of what the operator adapts in control planes of shoots. It needs
// webhooks.serviceName, or a webhooks.url which the seed's API server must reach, and the rights in
// config/rbac/controlplane.
type ControlPlane struct {
	// KubeControllerManager has an entry for each type of infrastructure whose
	// kube-controller-managers the operator adapts with a webhook for Deployments in the seed.
	// Use it only where no extension of the infrastructure does this.
	KubeControllerManager []KubeControllerManager `json:"kubeControllerManager,omitempty"`
}

// KubeControllerManager is what the kube-controller-managers of shoots on one infrastructure get,
// besides --cloud-provider=external.
type KubeControllerManager struct {
	// Provider is the type of the infrastructure, as in spec.provider.type of Shoots.
	Provider string `json:"provider"`
	// ExternalCloudVolumePlugin is the value of --external-cloud-volume-plugin. Without it the
	// flag is removed.
	ExternalCloudVolumePlugin string `json:"externalCloudVolumePlugin,omitempty"`
	// CloudConfig is the content of the file that --cloud-config names. The operator keeps it in
	// the ConfigMap cloud-provider-config of each control plane. It must contain no secrets.
	// Without it and cloudConfigTemplate the flag is removed.
	CloudConfig string `json:"cloudConfig,omitempty"`
	// CloudConfigTemplate, instead of cloudConfig, is a template of that content as of kubectl's
	// -o jsonpath. Its paths are those of the control plane's Infrastructure, such as
	// {.status.providerStatus.vpc.id}. A kube-controller-manager can only be written once its
	// Infrastructure has all values.
	CloudConfigTemplate string `json:"cloudConfigTemplate,omitempty"`
}

// PodRoutes are the settings of routes on one infrastructure.
type PodRoutes struct {
	// Provider is the type of the infrastructure, as in spec.provider.type of Shoots. With one for
	// which the operator cannot make routes it does not start.
	Provider string `json:"provider"`
	// MaxRoutesPerTable is how many routes of one IP family a route table takes. Write the quota of
	// the accounts here if it differs from the infrastructure's default. Users are told when a table
	// reaches 90% of it.
	MaxRoutesPerTable int `json:"maxRoutesPerTable,omitempty"`
}

// Controllers are the settings of the controllers.
type Controllers struct {
	// Shoot reconciles Shoots, standalone only.
	Shoot Controller `json:"shoot,omitempty"`
	// Network reconciles Networks.
	Network NetworkController `json:"network,omitempty"`
	// ManagedResource applies objects in shoots, standalone only.
	ManagedResource Controller `json:"managedResource,omitempty"`
	// Health reports the health of networks.
	Health HealthController `json:"health,omitempty"`
	// PodRoutes makes routes to the pods of nodes, for infrastructures in podRoutes.
	PodRoutes Controller `json:"podRoutes,omitempty"`
}

// NetworkController are the settings of the controller that reconciles Networks.
type NetworkController struct {
	Controller `json:",inline"`

	// ReconciliationTimeout limits one reconciliation, and the time until the objects that
	// it has written are applied; after that the status reports an error.
	ReconciliationTimeout metav1.Duration `json:"reconciliationTimeout,omitempty"`
	// IgnoreOperationAnnotation makes each change of a Network's spec the trigger, as in
	// standalone mode, in place of the annotation gardener.cloud/operation: Gardener's flag
	// --ignore-operation-annotation. A gardenlet does not work with it.
	IgnoreOperationAnnotation bool `json:"ignoreOperationAnnotation,omitempty"`
	// RolloutStrategy paces how a new version of the operator, or changed settings of it, reach
	// networks whose users have changed nothing. Without it they reach each network with its next
	// reconciliation: standalone all at once, in a Gardener landscape when gardenlet asks.
	RolloutStrategy *RolloutStrategy `json:"rolloutStrategy,omitempty"`
}

// RolloutStrategy paces a roll-out over Networks.
type RolloutStrategy struct {
	// MaxConcurrency is how many Networks are updated at a time: a number, or a part of all
	// Networks such as 10%, rounded up.
	MaxConcurrency *intstr.IntOrString `json:"maxConcurrency,omitempty"`
	// MinSuccessTime is how long a Network must be applied and healthy until it has succeeded,
	// and another one takes its place.
	MinSuccessTime metav1.Duration `json:"minSuccessTime,omitempty"`
	// ProgressDeadline is the time after which a Network has failed that was healthy before its
	// update and is not healthy again. It must be longer than minSuccessTime.
	ProgressDeadline metav1.Duration `json:"progressDeadline,omitempty"`
	// MaxFailures is how many Networks may fail before the roll-out halts: a number, or a part of
	// all Networks such as 2%, rounded up, so that one cluster alone does not halt it. A canary that
	// fails halts it at once.
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`
	// CanaryLabels are labels of Networks. Those that have all of them are updated first; the
	// others wait until they have succeeded. Without it no Network comes first.
	CanaryLabels map[string]string `json:"canaryLabels,omitempty"`
	// Paused keeps all networks as they are, but for changes of users.
	Paused bool `json:"paused,omitempty"`
}

// HealthController are the settings of the controller that reports the health of networks.
type HealthController struct {
	Controller `json:",inline"`

	// ProgressingThreshold is how long a network may be unhealthy before its condition
	// turns from Progressing to False. It should be longer than a roll-out.
	ProgressingThreshold metav1.Duration `json:"progressingThreshold,omitempty"`
}

// Controller are the settings of one controller.
type Controller struct {
	// ConcurrentSyncs is the number of objects that the controller reconciles at the same
	// time.
	ConcurrentSyncs int `json:"concurrentSyncs,omitempty"`
	// SyncPeriod is the time after which the controller reconciles an object although no
	// event arrived. Only managedResource, health and podRoutes use it.
	SyncPeriod metav1.Duration `json:"syncPeriod,omitempty"`
}
