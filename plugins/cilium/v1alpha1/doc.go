// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is what users write to configure Cilium: NetworkConfig, and
// what they read back: NetworkStatus. Both are wire-compatible with Gardener's
// cilium.networking.extensions.gardener.cloud/v1alpha1.
//
// It has defaults and rules as documentation of the fields only. The plugin's
// fields_*.go implement them.
//
// +kubebuilder:object:generate=true
package v1alpha1

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "cilium.networking.extensions.gardener.cloud", Version: "v1alpha1"}

// Schema is the JSON schema of NetworkConfig, as `make generate` makes it of the
// type. It must not be changed.
//
//go:embed zz_generated.networkconfig.schema.json
var Schema []byte
