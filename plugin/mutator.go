// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Mutator is implemented by a Definition whose networks need changes in objects that
// others write into the shoot. Its Render puts a webhook configuration that points to
// the Webhook of the Environment into an AdmissionBundle.
type Mutator interface {
	// Mutate changes object, which is about to be created or updated in the shoot, to
	// what the network needs, and reports whether it did. It leaves objects alone that
	// the network does not need changed: callers do not select them. Mutating twice
	// changes nothing more. An error refuses the object, and its author is shown it.
	//
	// Objects that are being deleted are not mutated.
	Mutate(object *unstructured.Unstructured) (changed bool, err error)
}
