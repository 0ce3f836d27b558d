// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// trial finds out by building networks what a field does.
type trial struct {
	*Explainer
	path []string
	// around is what is written beside the field.
	around map[string]any
}

// circumstance is what is known of a cluster, and may change a default.
type circumstance struct {
	// when says it in words; empty where nothing is known.
	when   string
	change func(*extensionsv1alpha1.NetworkSpec)
	// withoutKubeProxy is what no spec says.
	withoutKubeProxy bool
	// families names the IP families; empty where it is not about them.
	families string
}

// servesIPv4 says whether it is about a cluster that may be any, with IPv4. Others
// would take long to be tried beside each field.
func (c circumstance) servesIPv4() bool { return c.families == onlyIPv4 || c.families == bothFamilies }

// Names of IP families.
const (
	onlyIPv4     = "IPv4 alone"
	onlyIPv6     = "IPv6 alone"
	bothFamilies = "both families"
)

// circumstances begin with a cluster of which nothing is known.
func (t *trial) circumstances() []circumstance {
	all := []circumstance{{families: onlyIPv4, change: func(*extensionsv1alpha1.NetworkSpec) {}}}
	for _, infrastructure := range t.pipeline.Infrastructures() {
		all = append(all, circumstance{when: "on infrastructure " + infrastructure, change: func(s *extensionsv1alpha1.NetworkSpec) {
			s.CloudProvider = infrastructure
		}})
	}
	if t.plugin.IPFamilies.IPv6 {
		all = append(all, circumstance{when: "with IPv6 alone", families: onlyIPv6, change: func(s *extensionsv1alpha1.NetworkSpec) {
			s.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv6}
			s.PodCIDR, s.ServiceCIDR = "2001:db8:1::/48", "2001:db8:2::/112"
		}})
	}
	if t.plugin.IPFamilies.DualStack {
		all = append(all, circumstance{when: "with both IP families", families: bothFamilies, change: func(s *extensionsv1alpha1.NetworkSpec) {
			s.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}
		}})
	}
	return append(all, circumstance{
		when: "without kube-proxy", change: func(*extensionsv1alpha1.NetworkSpec) {}, withoutKubeProxy: true,
	})
}

// network is one in which the field has a value.
type network struct {
	*settled
	value any
	in    circumstance
}

// settled is what is in force in a network.
type settled struct {
	applied *pipeline.Applied
	// config is what is in force, decoded.
	config any
}

// networkOf is a network in which this is written, or none if it is invalid. Each is
// made once: most are of use for many fields.
func (t *trial) networkOf(written map[string]any, value any, c circumstance) []network {
	key := c.when + "\n" + string(encoded(written))
	one, known := t.made[key]
	if !known {
		one = t.settle(written, c)
		t.made[key] = one
	}
	if one == nil {
		return nil
	}
	return []network{{one, value, c}}
}

func (t *trial) settle(written map[string]any, c circumstance) *settled {
	result := t.build(written, c, nil)
	if len(result.Errors) > 0 {
		return nil
	}
	config, errs := t.plugin.Decode(result.Config, nil)
	if len(errs) > 0 {
		return nil
	}
	return &settled{result.Applied(), config}
}

// classOf is what the plugin says of the field, to ask which is much quicker than to make
// the network that comes of a change.
func (t *trial) classOf(before, after *network) (plugin.ChangeClass, string) {
	environment := plugin.Environment{FeatureGates: t.gates}
	return t.plugin.Classify(strings.Join(t.path, "."), before.config, after.config,
		&plugin.Input{Facts: before.applied.Accepted.Facts, Environment: environment},
		&plugin.Input{Facts: after.applied.Accepted.Facts, Environment: environment})
}

func encoded(config map[string]any) []byte {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil // nothing comes here but values that were JSON
	}
	return raw
}

// build judges a network with this config where nothing else is known but the
// circumstance. It replaces a network that was made before, if there is one.
func (t *trial) build(config map[string]any, c circumstance, before *network) pipeline.Result {
	network := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "network", Namespace: "default"},
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: t.plugin.Type, ProviderConfig: &runtime.RawExtension{Raw: encoded(config)}},
			PodCIDR:     pipeline.DefaultPodCIDR, ServiceCIDR: pipeline.DefaultServiceCIDR,
		},
	}
	c.change(&network.Spec)
	request := t.pipeline.NewRequest(network, nil, plugin.Environment{FeatureGates: t.gates})
	if c.withoutKubeProxy {
		request.Facts.KubeProxy.Enabled = false
	}
	if before != nil {
		request.Applied = before.applied
	}
	return t.pipeline.Judge(request)
}

// inForce returns the value of the field where the user writes nothing.
func (t *trial) inForce() any {
	result := t.build(nil, t.circumstances()[0], nil)
	var value any
	if len(result.Errors) > 0 || json.Unmarshal(result.Config, &value) != nil {
		return nil
	}
	for _, name := range t.path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}
