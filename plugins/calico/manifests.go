// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"embed"

	"github.com/trellis-network/trellis/plugin/manifest"
)

//go:embed manifests
var manifests embed.FS

// What is the same in every network: the kinds of Calico, and identities, rights and Services
// of its components.
var (
	crds            = manifest.Constants(manifests, "manifests/crds.yaml")
	nodeRole        = manifest.Constants(manifests, "manifests/node.yaml")
	cniAccess       = manifest.Constants(manifests, "manifests/cni.yaml")
	metricsServices = manifest.Constants(manifests, "manifests/monitoring.yaml")
	birdMetrics     = manifest.Constants(manifests, "manifests/monitoring-bird.yaml")

	// typhaPolicy lets calico-node reach Typha. It is there even without Typha, as in
	// Gardener's extension.
	typhaPolicy = manifest.Constants(manifests, "manifests/typha-policy.yaml")
)

// Components, each with its workload.
var (
	nodeObjects            = manifest.Component(manifests, "manifests/node-daemonset.yaml", images)
	typhaObjects           = manifest.Component(manifests, "manifests/typha.yaml", images)
	typhaHorizontalObjects = manifest.Component(manifests, "manifests/typha-horizontal-autoscaler.yaml", images)
	typhaVerticalObjects   = manifest.Component(manifests, "manifests/typha-vertical-autoscaler.yaml", images)
	nodeVerticalObjects    = manifest.Component(manifests, "manifests/node-vertical-autoscaler.yaml", images)
	kubeControllersObjects = manifest.Component(manifests, "manifests/kube-controllers.yaml", images)
	multusObjects          = manifest.Component(manifests, "manifests/multus.yaml", images)
)
