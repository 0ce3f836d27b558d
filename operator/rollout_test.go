// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"testing"

	. "github.com/onsi/gomega"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
)

// Replicas of one release roll out the same revision, and each setting that changes networks makes
// another. Settings of the operator itself do not.
func TestTheRevisionIsOfWhatChangesNetworks(t *testing.T) {
	g := NewWithT(t)
	built, err := pipeline.New(nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	revision := func(document string, gates map[string]bool, images ...string) string {
		config, err := configv1alpha1.Load([]byte(document))
		g.Expect(err).NotTo(HaveOccurred())
		replaced := map[string]string{} // by the configuration or by Gardener's file
		for _, image := range images {
			replaced["example"] = image
		}
		policy, err := (&Options{Config: config, gates: gates, images: replaced}).rollout(built)
		g.Expect(err).NotTo(HaveOccurred())
		if policy == nil {
			return ""
		}
		return policy.Revision
	}
	const paced = "{controllers: {network: {rolloutStrategy: {maxConcurrency: 1}}}"
	g.Expect(revision("", nil)).To(BeEmpty(), "without a strategy nothing is paced")
	before := revision(paced+"}", nil)
	g.Expect(before).To(HaveLen(16))
	g.Expect(revision(paced+", metrics: {bindAddress: ':1'}}", nil)).To(Equal(before))
	g.Expect(revision(paced+"}", nil, "registry.example/one")).NotTo(Equal(before))
	g.Expect(revision(paced+", connectivityProbe: {disabled: true}}", nil)).NotTo(Equal(before))
	g.Expect(revision(paced+"}", map[string]bool{"Example": true})).NotTo(Equal(before))
}
