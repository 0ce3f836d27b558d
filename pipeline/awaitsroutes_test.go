// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// A network that gives up its tunnel waits for the routes that the operator has been asked to make.
func TestANetworkAwaitsRoutesThatItComesToRelyOn(t *testing.T) {
	const tunnel, none = `{"tunnel":{"enabled":true}}`, `{"tunnel":{"enabled":false}}`
	for name, test := range map[string]struct {
		before, after string
		annotations   map[string]string
		awaits        bool
	}{
		"it gives up its tunnel":                 {tunnel, none, map[string]string{extensionsv1alpha1.PodRoutesAnnotation: "true"}, true},
		"its owner has not asked for routes":     {tunnel, none, nil, false},
		"routes are not wanted":                  {tunnel, none, map[string]string{extensionsv1alpha1.PodRoutesAnnotation: "false"}, false},
		"it has had no tunnel":                   {none, `{"tunnel":{"enabled":false},"mtu":"1500"}`, map[string]string{extensionsv1alpha1.PodRoutesAnnotation: "true"}, false},
		"it gets a tunnel":                       {none, tunnel, map[string]string{extensionsv1alpha1.PodRoutesAnnotation: "true"}, false},
		"its owner does not want to wait for it": {tunnel, none, map[string]string{extensionsv1alpha1.PodRoutesAnnotation: "true", extensionsv1alpha1.TransitionAnnotation: extensionsv1alpha1.TransitionAtOnce}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, request := stepped(t, steppingPlugin{}, test.before, test.after)
			applied := request.Applied
			wanted := network(test.after)
			wanted.ObjectMeta = metav1.ObjectMeta{Name: wanted.Name, Namespace: wanted.Namespace, Annotations: test.annotations}
			request = p.NewRequest(wanted, nil, plugin.Environment{})
			request.Applied = applied
			result := p.Build(request)
			g.Expect(result.Errors).To(BeEmpty())
			g.Expect(result.AwaitsRoutes).To(Equal(test.awaits))
			request.Facts.Hibernated = true
			g.Expect(p.Build(request).AwaitsRoutes).To(BeFalse(), "a cluster that sleeps has no traffic")
			request.Applied = nil
			g.Expect(p.Build(request).AwaitsRoutes).To(BeFalse(), "nor has a new one")
		})
	}
}
