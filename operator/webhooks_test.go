// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/operator"
)

// With a webhook that API servers cannot reach, or without its certificates, shoots would
// refuse objects.
func TestWebhooksThatCannotWorkKeepTheOperatorFromStarting(t *testing.T) {
	t.Setenv("LEADER_ELECTION_NAMESPACE", "")
	for name, test := range map[string]struct{ config, want string }{
		"a Service without Gardener": {
			"{mode: Standalone, webhooks: {serviceName: trellis, namespace: garden}}",
			"the configuration is invalid: webhooks.serviceName: Forbidden: without Gardener, the API servers of shoots may not reach Services of the seed, and the seed's API server calls no webhook; set webhooks.url"},
		"no namespace": {
			"{mode: Gardener, webhooks: {serviceName: trellis}}",
			"the configuration is invalid: webhooks.namespace: Required value: the operator does not run in a pod"},
		"no place for the certificates": {
			"{mode: Gardener, webhooks: {url: 'https://trellis.example.com', namespace: garden}}",
			"keep the webhooks' certificates in the Secret garden/trellis-webhooks: "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			config, err := configv1alpha1.Load([]byte(test.config))
			g.Expect(err).NotTo(HaveOccurred())
			config.Metrics.BindAddress, config.HealthProbes.BindAddress = "0", "0"
			err = operator.Run(t.Context(), operator.Options{Config: config, Seed: &rest.Config{Host: "127.0.0.1:1"}})
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}
