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

// Controllers are the settings of the controllers.
type Controllers struct {
	// Shoot carries out Shoots, standalone only.
	// +optional
	Shoot Controller `json:"shoot,omitempty"`
	// Network carries out Networks.
	// +optional
	Network Controller `json:"network,omitempty"`
	// ManagedResource applies objects in shoots, standalone only.
	// +optional
	ManagedResource Controller `json:"managedResource,omitempty"`
	// Health reports the health of networks.
	// +optional
	Health Controller `json:"health,omitempty"`
}

// Controller are the settings of one controller.
type Controller struct {
	// ConcurrentSyncs is how many objects are worked on at once.
	// +optional
	ConcurrentSyncs int `json:"concurrentSyncs,omitempty"`
	// SyncPeriod is how often an object is looked at when nothing happens. Only
	// managedResource (1m) and health (30s) have one.
	// +optional
	SyncPeriod metav1.Duration `json:"syncPeriod,omitempty"`
}
