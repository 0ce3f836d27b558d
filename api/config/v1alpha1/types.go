// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperatorConfigurationKind is the kind of the configuration file.
const OperatorConfigurationKind = "OperatorConfiguration"

// Mode is the way in which the operator runs.
type Mode string

const (
	// ModeGardener leaves Shoots, Clusters and the objects inside of shoots to
	// Gardener, and acts on the operation annotation.
	ModeGardener Mode = "Gardener"
	// ModeStandalone does all of it, and acts on changed generations.
	ModeStandalone Mode = "Standalone"
)

// OperatorConfiguration is the configuration file of the operator. Everything in
// it is optional.
type OperatorConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// Mode is the way to run. If it is not said, the operator runs standalone
	// where the API server has Shoots as a custom resource, which is never so in a
	// Gardener landscape, and otherwise as part of Gardener.
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// ClientConnection limits the requests to the seed's API server.
	// +optional
	ClientConnection ClientConnection `json:"clientConnection,omitempty"`
	// ShootClientConnection limits the requests to each shoot's API server.
	// +optional
	ShootClientConnection ClientConnection `json:"shootClientConnection,omitempty"`
	// Metrics is where metrics are served.
	// +optional
	Metrics Endpoint `json:"metrics,omitempty"`
	// HealthProbes is where /healthz and /readyz are served.
	// +optional
	HealthProbes Endpoint `json:"healthProbes,omitempty"`
	// Webhooks is where the operator answers API servers, of shoots above all.
	// +optional
	Webhooks Webhooks `json:"webhooks,omitempty"`
	// LeaderElection lets one of several replicas work at a time.
	// +optional
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`
	// Heartbeat tells a gardenlet that the operator is alive.
	// +optional
	Heartbeat Heartbeat `json:"heartbeat,omitempty"`
	// Controllers are the settings of the controllers.
	// +optional
	Controllers Controllers `json:"controllers,omitempty"`
	// FeatureGates switches features of the plugins, by name. A name that no
	// plugin has keeps the operator from starting; trellis render --help lists
	// those that there are.
	// +optional
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Images replaces container images, by the name in a plugin's images.yaml.
	// +optional
	Images map[string]string `json:"images,omitempty"`
	// DumpRequests is an existing folder into which what the pipeline is asked for
	// each Network is written, to be replayed with trellis render --request.
	// +optional
	DumpRequests string `json:"dumpRequests,omitempty"`
}

// ClientConnection limits the requests to an API server.
type ClientConnection struct {
	// QPS is the number of requests a second over time.
	// +optional
	QPS float32 `json:"qps,omitempty"`
	// Burst is the number of requests at once.
	// +optional
	Burst int `json:"burst,omitempty"`
}

// Endpoint is where something is served.
type Endpoint struct {
	// BindAddress is host:port; "0" serves nothing.
	// +optional
	BindAddress string `json:"bindAddress,omitempty"`
}

// Webhooks are the settings of the operator's webhooks. They are served where it is
// said how they are reached: by URL or, in a Gardener landscape, by ServiceName.
type Webhooks struct {
	// BindAddress is host:port; :10250 by default, and "0" serves nothing.
	// +optional
	BindAddress string `json:"bindAddress,omitempty"`
	// URL is what the webhooks' addresses begin with, as all API servers that call them
	// can reach it: https, a host, perhaps a port and a path.
	// +optional
	URL string `json:"url,omitempty"`
	// ServiceName is the name of a Service of the operator's, in its own namespace, that
	// passes port 443 on to BindAddress. API servers of shoots reach it in a Gardener
	// landscape, where they run in the seed; elsewhere state URL.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// SecretName is the name of the Secret with the certificates, which all replicas
	// share; trellis-webhooks by default.
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// Namespace is that of the Secret and the Service; by default the pod's own.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// LeaderElection are the settings of the Lease by which one of several replicas
// becomes the leader. The fields are those of Kubernetes' own components.
type LeaderElection struct {
	// LeaderElect says whether there is an election. By default there is one where
	// a namespace for its Lease is known: ResourceNamespace, or that of the pod.
	// +optional
	LeaderElect *bool `json:"leaderElect,omitempty"`
	// LeaseDuration is how long the others wait for a leader that is silent; 15s
	// by default.
	// +optional
	LeaseDuration metav1.Duration `json:"leaseDuration,omitempty"`
	// RenewDeadline is after which time a leader that cannot renew the Lease gives
	// up; 10s by default, and less than LeaseDuration.
	// +optional
	RenewDeadline metav1.Duration `json:"renewDeadline,omitempty"`
	// RetryPeriod is the time between two attempts; 2s by default, and less than
	// RenewDeadline.
	// +optional
	RetryPeriod metav1.Duration `json:"retryPeriod,omitempty"`
	// ResourceName is the name of the Lease, trellis-operator by default. The
	// operator's role names it.
	// +optional
	ResourceName string `json:"resourceName,omitempty"`
	// ResourceNamespace is the namespace of the Lease; by default the pod's own.
	// +optional
	ResourceNamespace string `json:"resourceNamespace,omitempty"`
}

// Heartbeat are the settings of the Lease gardener-extension-heartbeat, by whose
// age a gardenlet tells whether what an extension reports is current. It is
// renewed only in a Gardener landscape, by the leader.
type Heartbeat struct {
	// RenewInterval is the time between two renewals; 30s by default.
	// +optional
	RenewInterval metav1.Duration `json:"renewInterval,omitempty"`
	// ExtensionName is the holder's identity: the name of the extension's
	// ControllerRegistration. trellis by default.
	// +optional
	ExtensionName string `json:"extensionName,omitempty"`
	// Namespace is that of the Lease; by default the pod's own. Without either
	// there is no heartbeat.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// Controllers are the settings of the controllers.
type Controllers struct {
	// Shoot carries out Shoots, standalone only.
	// +optional
	Shoot Controller `json:"shoot,omitempty"`
	// Network carries out Networks.
	// +optional
	Network NetworkController `json:"network,omitempty"`
	// ManagedResource applies objects in shoots, standalone only.
	// +optional
	ManagedResource Controller `json:"managedResource,omitempty"`
	// Health reports the health of networks.
	// +optional
	Health HealthController `json:"health,omitempty"`
}

// NetworkController are the settings of the controller that carries out Networks.
type NetworkController struct {
	Controller `json:",inline"`

	// ReconciliationTimeout bounds how long one reconciliation takes, and how long the
	// objects it has written are waited for before the status says that they are not
	// applied; 3m by default, as in Gardener's contract.
	// +optional
	ReconciliationTimeout metav1.Duration `json:"reconciliationTimeout,omitempty"`
	// IgnoreOperationAnnotation makes the operator act on every change of a Network's
	// spec, as it does standalone, and not on the annotation gardener.cloud/operation:
	// Gardener's flag --ignore-operation-annotation. A gardenlet does not work with it.
	// +optional
	IgnoreOperationAnnotation bool `json:"ignoreOperationAnnotation,omitempty"`
}

// HealthController are the settings of the controller that reports the health of
// networks.
type HealthController struct {
	Controller `json:",inline"`

	// ProgressingThreshold is how long a network may be unhealthy before its
	// condition turns from Progressing to False; 5m by default. Rollouts should not
	// take longer.
	// +optional
	ProgressingThreshold metav1.Duration `json:"progressingThreshold,omitempty"`
}

// Controller are the settings of one controller.
type Controller struct {
	// ConcurrentSyncs is how many objects are worked on at once: by default 5, but
	// 20 for managedResource and 10 for health.
	// +optional
	ConcurrentSyncs int `json:"concurrentSyncs,omitempty"`
	// SyncPeriod is how often an object is looked at when nothing happens. Only
	// managedResource (1m) and health (30s) have one.
	// +optional
	SyncPeriod metav1.Duration `json:"syncPeriod,omitempty"`
}
