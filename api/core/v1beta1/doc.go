// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 has the part of Gardener's core.gardener.cloud/v1beta1 API that
// Trellis uses: the Shoot, and the conditions, operations and error codes that all of
// Gardener's APIs share.
//
// A Shoot has many more fields than these types. Decoding keeps the whole document, and
// encoding writes the changes of the known fields into it, so no field is lost.
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

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Shoot{}, &ShootList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
