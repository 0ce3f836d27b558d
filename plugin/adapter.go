// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Adapter is implemented by a Definition some of whose networks need objects in the
// shoot to be other than those write them who look after them. For such networks it
// renders, into an AdmissionBundle, a webhook configuration that points to
// Facts.Webhook.
type Adapter interface {
	// Adapt changes object, which is about to be created or updated in the shoot, to
	// what the network needs, and says whether it did. It leaves alone what is none of
	// its business: who calls it does not know what is. Adapting twice changes nothing
	// more. An error refuses the object and is shown to its author.
	//
	// Objects that are being deleted are not adapted.
	Adapt(object *unstructured.Unstructured) (changed bool, err error)
}
