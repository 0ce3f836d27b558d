// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds Gardener's extension API as far as a pod network
// meets it: Network and Cluster, wire-compatible with
// extensions.gardener.cloud/v1alpha1.
//
// It refuses to know what a providerConfig means: that belongs to the plugin
// which the Network's type names.
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

// The kinds of this package.
var (
	builder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
		s.AddKnownTypes(GroupVersion, &Network{}, &NetworkList{}, &Cluster{}, &ClusterList{})
		metav1.AddToGroupVersion(s, GroupVersion)
		return nil
	})
	// AddToScheme registers them.
	AddToScheme = builder.AddToScheme
)
