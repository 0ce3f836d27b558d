// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Adopter is implemented by a Definition whose running networks may differ from new ones in
// something that no field of the config tells, because of how they were made.
type Adopter interface {
	// Inherit returns what a running network keeps. present are the objects that were written
	// last for the network itself, by Trellis or by Gardener's extension. They may lack what the
	// Definition looks for, which then counts as nothing to keep.
	Inherit(present []unstructured.Unstructured) Inherited
	// MustInherit reports that a network must not change while what is written for it is missing
	// or malformed, because pods rely on what it keeps. Otherwise it then keeps nothing.
	MustInherit() bool
}

// Inherited is what a running network keeps of how it was made. New networks have the zero value.
type Inherited struct {
	// IPAM names what gives pods their addresses. The plugin chooses the names. Empty is what new
	// networks have.
	IPAM string `json:"ipam,omitempty"`
	// OneBundle reports that the network's own bundle has the objects, too, that new networks have
	// in an ExtrasBundle. They stay there: a resource manager deletes what leaves a bundle before
	// it applies anything, and meanwhile another one would create it again.
	OneBundle bool `json:"oneBundle,omitempty"`
	// Checksums are the values by which running pods were started with the data of ConfigMaps, by
	// the checksums with which Trellis would start pods with the same data: what Gardener's
	// extension made a checksum of is spelled in another way. The pods keep the values for as long
	// as the data stays, and do not restart when the network is taken over.
	Checksums map[string]string `json:"checksums,omitempty"`
}

// KeepsNothing reports whether the network is as new ones are.
func (i *Inherited) KeepsNothing() bool { return i.IPAM == "" && !i.OneBundle && len(i.Checksums) == 0 }

// StartedWith returns the value by which pods are told that their configuration has a checksum.
func (i *Inherited) StartedWith(checksum string) string {
	if kept, ok := i.Checksums[checksum]; ok {
		return kept
	}
	return checksum
}
