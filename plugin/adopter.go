// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Adopter is implemented by a Definition whose running networks may give pods addresses
// in another way than new ones do, without a field in the config that tells.
type Adopter interface {
	// IPAM returns the value of Facts.IPAM that a running network keeps. present are the
	// objects that were written for it last, by Trellis or by Gardener's extension.
	// Empty means that the objects do not tell.
	IPAM(present []unstructured.Unstructured) string
}
