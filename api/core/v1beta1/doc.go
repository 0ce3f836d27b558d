// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds what networking reads of Gardener's
// core.gardener.cloud/v1beta1 API: the Shoot, and the vocabulary (conditions,
// operations, error codes) that all of Gardener's APIs share.
//
// A Shoot has many more fields than these. They are not lost: decoding keeps
// the document, and encoding writes the changes of the known fields into it.
//
// +kubebuilder:object:generate=true
// +groupName=core.gardener.cloud
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "core.gardener.cloud", Version: "v1beta1"}

// The kinds of this package.
var (
	builder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
		s.AddKnownTypes(GroupVersion, &Shoot{}, &ShootList{})
		metav1.AddToGroupVersion(s, GroupVersion)
		return nil
	})
	// AddToScheme registers them.
	AddToScheme = builder.AddToScheme
)
