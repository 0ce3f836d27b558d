// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// What changes with the Shoot, and not with the config, has a class as well.
func TestChangesOfFactsAreClassified(t *testing.T) {
	const version = "spec.kubernetes.version"
	for name, test := range map[string]struct {
		config  string
		after   func(*corev1beta1.Shoot)
		changes []pipeline.Change
		refused string
	}{
		"nothing":                          {"", func(*corev1beta1.Shoot) {}, nil, ""},
		"what this plugin does not go by":  {"", func(s *corev1beta1.Shoot) { s.Status.AdvertisedAddresses = external("https://api.example.org") }, nil, ""},
		"what this network does not go by": {"", func(s *corev1beta1.Shoot) { s.Spec.Kubernetes.Version = "1.37.0" }, nil, ""},
		"kube-proxy goes":                  {"", withoutKubeProxy, []pipeline.Change{{Path: "spec.kubernetes.kubeProxy.enabled", Before: true, After: false, Class: plugin.Disruptive, Reason: "the agents take over from kube-proxy"}}, ""},
		"forbidden, where the config is bridged": {`{"mode":"bridged"}`, func(s *corev1beta1.Shoot) { s.Spec.Kubernetes.Version = "1.37.0" },
			[]pipeline.Change{{Path: version, Before: "1.36.3", After: "1.37.0", Class: plugin.Forbidden, Reason: "bridged mode is only for one version of Kubernetes"}},
			version + ": Forbidden: cannot change from 1.36.3 to 1.37.0 in a running network: bridged mode is only for one version of Kubernetes"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{})
			shoot := &corev1beta1.Shoot{}
			shoot.Spec.Kubernetes.Version = "1.36.3"
			before := p.Build(p.NewRequest(network(test.config), shoot, noEnvironment))
			g.Expect(before.Errors).To(BeEmpty())
			test.after(shoot)
			request := p.NewRequest(network(test.config), shoot, noEnvironment)
			request.Applied = before.Applied()
			result := p.Build(request)
			g.Expect(result.Changes).To(Equal(test.changes))
			g.Expect(lines(result.Errors)).To(Equal(test.refused))
		})
	}
}

func withoutKubeProxy(s *corev1beta1.Shoot) {
	s.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: new(false)}
}

func external(url string) []corev1beta1.AdvertisedAddress {
	return []corev1beta1.AdvertisedAddress{{Name: "external", URL: url}}
}

// An older release did not keep the facts that a network was applied for, so none counts
// as changed.
func TestFactsThatWereNotKeptDoNotChange(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	shoot := &corev1beta1.Shoot{}
	withoutKubeProxy(shoot)
	request := p.NewRequest(network(""), shoot, noEnvironment)
	request.Applied = &pipeline.Applied{Config: p.Build(request).Config}
	g.Expect(p.Build(request).Changes).To(BeEmpty())
}
