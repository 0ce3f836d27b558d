// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel"
)

const subnetsOnly = `{"apiVersion":"flannel.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig","mtu":1400,"backend":{"directRouting":true}}`

// Nodes of two networks reach each other only if neither encapsulates packets. So the network that comes encapsulates
// them once it is alone, whatever its user has asked for.
func TestNetworksRouteNativelyWhileTheTypeChanges(t *testing.T) {
	for name, config := range map[string]string{"by default": "", "as the user says": subnetsOnly} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, of := withTypes(t)
			built := p.BuildExchange(of("plain", ""), of("flannel", config), "flannel")
			g.Expect(built.Errors).To(BeEmpty())
			g.Expect(built.Values).To(HaveKeyWithValue("backend.type", "host-gw"))
			if config == subnetsOnly {
				g.Expect(built.Values).To(HaveKeyWithValue("mtu", BeEquivalentTo(1400)), "what has nothing to do with it stays")
			}
			then := of("flannel", config)
			then.Applied = built.Applied()
			alone := p.Build(then)
			g.Expect(alone.Errors).To(BeEmpty())
			g.Expect(alone.Values).To(HaveKeyWithValue("backend.type", "vxlan"))
			g.Expect(alone.Transition.IsNeeded() || config == subnetsOnly).To(BeTrue(), "it encapsulates packets in steps")
		})
	}
}

// The network that runs routes natively before anything of the other one is written.
func TestANetworkIsPreparedForAnotherType(t *testing.T) {
	g := NewWithT(t)
	p, of := withTypes(t)
	running := of("flannel", "")
	first := p.Build(running)
	running.Applied = first.Applied()
	request, built, needed := p.PrepareExchange(running)
	g.Expect(needed).To(BeTrue())
	g.Expect(built.Errors).To(BeEmpty())
	g.Expect(built.Transition.String()).To(HavePrefix("the change is made in 2 steps"))

	running = request
	running.Applied = built.Applied()
	again, _, needed := p.PrepareExchange(running)
	g.Expect(needed).To(BeFalse())
	g.Expect(again.Spec).To(Equal(request.Spec))

	var told []string
	for _, warning := range p.CheckExchange(of("flannel", ""), of("plain", "")).Warnings {
		told = append(told, warning.Message)
	}
	g.Expect(told).To(ContainElements(
		HavePrefix("the network of type flannel first routes natively: the change is made in 2 steps"),
		HavePrefix("the nodes change from flannel to plain one after the other")))
	told = nil
	for _, warning := range p.CheckExchange(of("plain", ""), of("flannel", "")).Warnings {
		told = append(told, warning.Message)
	}
	g.Expect(told).To(ContainElement("the network of type flannel routes natively until all nodes have it; then it becomes what its config says"))
}

// abrupt is a network of type abrupt that can route natively, and not become so while pods run.
type abrupt struct{ plain }

func (abrupt) Describe() plugin.Description {
	description := plain{}.Describe()
	description.Type = "abrupt"
	return description
}

func (abrupt) RouteNatively(written *noopConfig) { written.Tunnel = &tunnel{} }

func (abrupt) Classify(plugin.Change[noopConfig]) (plugin.ChangeClass, string) {
	return plugin.Disruptive, "pods lose their connections"
}

// A user who allows another type has not asked for an interruption.
func TestAChangeOfTheTypeInterruptsNothing(t *testing.T) {
	g := NewWithT(t)
	_, of := withTypes(t)
	p, err := pipeline.New([]plugin.Plugin{flannel.New(), plugin.New(abrupt{})}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	tunnels := of("abrupt", `{"apiVersion":"noop.example.com/v1","kind":"NetworkConfig","tunnel":{"enabled":true}}`)
	built := p.CheckExchange(tunnels, of("flannel", ""))
	g.Expect(built.Errors).To(ConsistOf(And(HaveField("Type", field.ErrorTypeForbidden), HaveField("Field", "spec.type"),
		HaveField("Detail", ContainSubstring("the network of type abrupt must route natively first, and running pods would not survive the change of ")))))
	tunnels.AtOnce = true
	g.Expect(p.CheckExchange(tunnels, of("flannel", "")).Errors).To(BeEmpty(), "the user wants it")
}
