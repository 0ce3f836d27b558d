// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has what the probes of a shoot report: NodeConnectivity, one object a node,
// of connectivity.trellis.network/v1alpha1. The kind lives in shoots only.
//
// +kubebuilder:object:generate=true
// +groupName=connectivity.trellis.network
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "connectivity.trellis.network", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &NodeConnectivity{}, &NodeConnectivityList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
