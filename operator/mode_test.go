// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"testing"

	. "github.com/onsi/gomega"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// In a landscape the address inside of the seed is preferred.
func TestTheWayToShoots(t *testing.T) {
	contract.Shows(t, "S1")
	for name, test := range map[string]struct {
		mode     configv1alpha1.Mode
		variable string
		secrets  []string
	}{
		"in a landscape":                   {configv1alpha1.ModeGardener, "", []string{"gardener-internal", "gardener"}},
		"in a landscape, from the outside": {configv1alpha1.ModeGardener, "external", []string{"gardener"}},
		"standalone":                       {configv1alpha1.ModeStandalone, "", []string{"gardener"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GARDENER_SHOOT_CLIENT", test.variable)
			NewWithT(t).Expect(accessSecrets(test.mode)).To(Equal(test.secrets))
		})
	}
}
