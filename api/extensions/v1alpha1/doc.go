// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the part of Gardener's extension API that a pod network needs, Network and
// Cluster, and what comes before and after it, Infrastructure and ControlPlane. They are
// wire-compatible with extensions.gardener.cloud/v1alpha1.
//
// It does not interpret a providerConfig. The plugin of the Network's type does that.
//
// +kubebuilder:object:generate=true
// +groupName=extensions.gardener.cloud
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "extensions.gardener.cloud", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Network{}, &NetworkList{}, &Cluster{}, &ClusterList{},
		&Infrastructure{}, &InfrastructureList{}, &ControlPlane{}, &ControlPlaneList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
