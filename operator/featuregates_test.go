// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/operator"
)

// A user would believe that a gate without effect works.
func TestUnknownFeatureGatesKeepTheOperatorFromStarting(t *testing.T) {
	g := NewWithT(t)
	config, err := configv1alpha1.Load([]byte("featureGates: {NoSuchGate: true}"))
	g.Expect(err).NotTo(HaveOccurred())
	err = operator.Run(t.Context(), operator.Options{Config: config, Seed: &rest.Config{Host: "seed.invalid"}})
	g.Expect(err).To(MatchError(ContainSubstring("the configuration is invalid: featureGates[NoSuchGate]: Invalid value: \"true\": is not a feature gate; there are none")))
}
