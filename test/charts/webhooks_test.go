// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// The API server of a seed is anywhere, while those of shoots are in it. Only the former calls the
// webhooks for Networks and control planes.
func TestTheSeedsAPIServerReachesTheWebhooksThatItCalls(t *testing.T) {
	const fromAnywhere = "networking.resources.gardener.cloud/from-world-to-ports"
	for name, calls := range map[string]bool{"the operator on a seed": false, "the operator with all that it can adapt": true} {
		release := releases[name]
		release.namespace = "extension-trellis"
		service := find[corev1.Service](t, release.render(t), "Service")
		matches := HaveKeyWithValue(fromAnywhere, `[{"port":10250,"protocol":"TCP"}]`)
		if !calls {
			matches = Not(HaveKey(fromAnywhere))
		}
		NewWithT(t).Expect(service.Annotations).To(matches, name)
	}
}

func TestTheAdmissionGetsTheOperatorsFeatureGates(t *testing.T) {
	g := NewWithT(t)
	release := release{chart: "trellis-admission-runtime", name: "trellis-admission", namespace: "garden", values: "featureGates: {Second: false, First: true}"}
	args := find[appsv1.Deployment](t, release.render(t), "Deployment").Spec.Template.Spec.Containers[0].Args
	g.Expect(args).To(Equal([]string{"--mode=gardener", "--service=trellis-admission", "--feature-gates=First=true", "--feature-gates=Second=false"}))
	release.values = "featureGates: {First: 'yes'}"
	_, err := release.tryRender(t)
	g.Expect(err).To(MatchError(ContainSubstring("featureGates")))
}
