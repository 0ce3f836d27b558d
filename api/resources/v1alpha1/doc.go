// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has Gardener's ManagedResource, wire-compatible with
// resources.gardener.cloud/v1alpha1. It refers to Secrets with objects for another
// cluster, and reports whether they are applied and healthy.
//
// +kubebuilder:object:generate=true
// +groupName=resources.gardener.cloud
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "resources.gardener.cloud", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &ManagedResource{}, &ManagedResourceList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
