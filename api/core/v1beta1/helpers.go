// SPDX-License-Identifier: Apache-2.0

package v1beta1

// IsHibernated reports whether the Shoot's spec requests hibernation: no nodes and no
// control plane.
func (s *Shoot) IsHibernated() bool {
	h := s.Spec.Hibernation
	return h != nil && h.Enabled != nil && *h.Enabled
}
