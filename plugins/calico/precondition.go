// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// seamlessSwitchGate is the operator's switch for Precondition.
const seamlessSwitchGate = "SeamlessOverlaySwitch"

// Precondition keeps an overlay until the cloud has made routes to every node's pods. Otherwise
// traffic would stop until then. The nodes' conditions show the routes only if a
// MutatingAdmissionPolicy keeps Calico from setting the same condition for its overlay.
func (definition) Precondition(effective *v1alpha1.NetworkConfig, in *plugin.Input) *plugin.Precondition {
	if !in.FeatureGates[seamlessSwitchGate] || !overlayOff(effective) || in.MutatingAdmissionPolicies() == "" {
		return nil
	}
	return &plugin.Precondition{
		AppliesTo: hasOverlay,
		Condition: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated",
		Explanation: "without the overlay, pods talk through routes that the cloud has to make first",
	}
}

// hasOverlay reports whether the nodes of a network encapsulate. It also recognizes
// objects that another extension made.
func hasOverlay(objects []unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(object unstructured.Unstructured) bool {
		if object.GetKind() != "DaemonSet" || object.GetName() != "calico-node" {
			return false
		}
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		return slices.ContainsFunc(containers, hasTunnels)
	})
}

// hasTunnels reports whether a container of calico-node sets up tunnels.
func hasTunnels(container any) bool {
	fields, _ := container.(map[string]any)
	env, _, _ := unstructured.NestedSlice(fields, "env")
	return slices.ContainsFunc(env, func(variable any) bool {
		v, _ := variable.(map[string]any)
		return v["value"] == "true" && (v["name"] == "FELIX_IPINIPENABLED" || v["name"] == "FELIX_VXLANENABLED")
	})
}
