// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/admission"
)

// Users are told before there is a cluster what a feature gate of the operators means for it.
func TestFeatureGatesOfTheOperatorsCount(t *testing.T) {
	const gate = "NonPrivilegedCalicoNode"
	for name, gates := range map[string]map[string]bool{"stated": {gate: true}, "by default": nil} {
		t.Run(name, func(t *testing.T) {
			g := setup(t)
			g.admits(func(o *admission.Options) { o.FeatureGates = gates })
			var warnings warned
			config := rest.CopyConfig(g.Config)
			config.WarningHandlerWithContext = &warnings
			user, err := client.New(config, client.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			shoot := g.shoot("gated", "{networking: {type: calico, providerConfig: {birdExporter: {enabled: true}}}}")
			g.Expect(user.Create(t.Context(), shoot, client.DryRunAll)).To(Succeed())
			var told OmegaMatcher = ContainElement(HavePrefix("spec.networking.providerConfig.birdExporter.enabled: the exporter does not run, since calico-node is unprivileged"))
			if gates == nil {
				told = Not(told)
			}
			g.Expect(warnings.taken()).To(told)
		})
	}
}

// A user would believe that a gate without effect works.
func TestUnknownFeatureGatesKeepTheAdmissionFromStarting(t *testing.T) {
	g := setup(t)
	options := g.options(g.freeAddress())
	options.FeatureGates = map[string]bool{"NoSuchGate": true}
	g.Expect(admission.Run(t.Context(), options)).To(MatchError(ContainSubstring(
		`featureGates[NoSuchGate]: Invalid value: "true": is not a feature gate; there are `)))
}
