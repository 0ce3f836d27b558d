// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the operator's configuration file, an
// OperatorConfiguration of config.trellis.network/v1alpha1.
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the API group and version of the configuration file.
var GroupVersion = schema.GroupVersion{Group: "config.trellis.network", Version: "v1alpha1"}
