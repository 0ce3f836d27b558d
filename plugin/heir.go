// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Heir is implemented by a Definition for networks that run and give pods addresses
// in another way than new ones do, for which there is no field in the config.
type Heir interface {
	// IPAM returns what a network goes on with as Facts.IPAM, by the objects that were
	// written for it last, be it by Trellis or by what it was taken over from. Empty
	// means that they do not tell.
	IPAM(present []unstructured.Unstructured) string
}
