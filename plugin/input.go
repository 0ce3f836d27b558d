// SPDX-License-Identifier: Apache-2.0

package plugin

// Input is what a Definition goes by beside the config. It has values only: a Request
// can be written to a file and replayed.
type Input struct {
	Facts
	Environment
	Decisions
}

// Environment is what the operator of Trellis sets. It may change with each Build, and a
// network does not keep it.
type Environment struct {
	// FeatureGates are resolved, by name; a gate that is absent is off.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Images replaces images, by their names in Description.Images.
	Images map[string]string `json:"images,omitempty"`
	// Webhook is how the shoot's API server reaches the plugin's Mutator. Nil means that
	// the operator serves none.
	Webhook *Webhook `json:"webhook,omitempty"`
	// PodAccess is how the network's pods reach their API server in standalone mode. It
	// is nil in a landscape, where Gardener gives pods access. The pipeline adds it to
	// the rendered workloads.
	PodAccess *PodAccess `json:"podAccess,omitempty"`
	// Probe are the settings of the probe that the pipeline adds to each network. Nil adds none.
	Probe *Probe `json:"probe,omitempty"`
	// SharesCluster reports that some nodes have the agents of another type of network, or will: see Exchanger. What
	// the network does about nodes without its agents, and about their pods, must be left undone.
	SharesCluster bool `json:"sharesCluster,omitempty"`
}

// Standalone reports that there is no Gardener, and so none of its components either.
func (e *Environment) Standalone() bool { return e.PodAccess != nil }

// Probe are the operator's settings of the probe, which tests in each shoot what pods rely on.
type Probe struct {
	// OutsideTarget is a host:port outside of the cluster that pods must reach, or empty.
	OutsideTarget string `json:"outsideTarget,omitempty"`
}

// Decisions are what Build decides from more than a config.
type Decisions struct {
	// MaxUnavailable is on how many nodes the network's agents may be missing during a
	// roll-out. Build derives it from the number of nodes; an annotation takes precedence.
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`
	// FromAnnotation reports that MaxUnavailable is an annotation's.
	FromAnnotation bool `json:"fromAnnotation,omitempty"`
}

// PodAccess is how the pods of a network reach their API server before the
// network works.
type PodAccess struct {
	// Host and Port are those of the API server, from outside of the cluster's
	// Services.
	Host string `json:"host"`
	Port string `json:"port"`
}

// Webhook is where API servers of shoots find the webhook of Trellis.
type Webhook struct {
	// URL is the whole address, with https.
	URL string `json:"url"`
	// CABundle are the certificates, in PEM, of which one has signed the server's.
	CABundle []byte `json:"caBundle"`
}
