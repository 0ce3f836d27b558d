// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// exchanging is an Exchanger.
type exchanging struct {
	*fake[config]
	exchange plugin.Exchange
}

func (e exchanging) Describe() plugin.Description {
	description := e.fake.Describe()
	description.Images = plugin.ParseImages([]byte(`[{name: agent, repository: example.org/agent, tag: v1}]`))
	return description
}

func (e exchanging) Exchange(*config, *plugin.Input, *field.Path) plugin.Exchange { return e.exchange }

// exchangeOf makes an Exchanger that is sound but for an edit.
func exchangeOf(edit func(*plugin.Exchange)) func() plugin.Plugin {
	return func() plugin.Plugin {
		e := exchanging{sound(), plugin.Exchange{Remnants: plugin.Remnants{
			Image: "agent", Files: []string{"/etc/cni/net.d/10-fake.conflist", "/run/fake", "/sys/fs/bpf/fake_*"}, Mounts: []string{"/run/fake/cgroup"}, Interfaces: []string{"fake0", "fake-v6.1"},
			Chains: []string{"FAKE-"}, Comments: []string{"fake: rule"}, Sets: []string{"fake"}, Tables: []string{"ip fake"},
			RouteTables: []int{100}, Programs: []string{"fake_"},
		}}}
		edit(&e.exchange)
		return plugin.New[config](e)
	}
}

// brokenExchanges have what no script can take away.
var brokenExchanges = []broken{
	{check: "exchanges", how: "another image", says: `the image "none"`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Image = "none" })},
	{check: "exchanges", how: "a pattern", says: `the file "/etc/cni/net.d/*"`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Files = []string{"/etc/cni/net.d/*"} })},
	{check: "exchanges", how: "a mount elsewhere", says: `the mount "/sys/fs/cgroup"`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Mounts = []string{"/sys/fs/cgroup"} })},
	{check: "exchanges", how: "all programs", says: `the programs ""`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Programs = []string{""} })},
	{check: "exchanges", how: "the main table", says: "the table 254 of routes", plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.RouteTables = []int{254} })},
	{check: "exchanges", how: "a folder of the node's own", says: `the file "/etc"`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Files = []string{"/etc"} })},
	{check: "exchanges", how: "a way out", says: `the file "/etc/cni/../passwd"`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Files = []string{"/etc/cni/../passwd"} })},
	{check: "exchanges", how: "a command", says: `the name "a;b"`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Interfaces = []string{"a;b"} })},
	{check: "exchanges", how: "any chain", says: `the chains "F*"`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Chains = []string{"F*"} })},
	{check: "exchanges", how: "all comments", says: `the comments ""`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Comments = []string{""} })},
	{check: "exchanges", how: "kube-proxy's chains", says: `the chains "KUBE-"`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Chains = []string{"KUBE-"} })},
	{check: "exchanges", how: "half a kind", says: `the kind`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Kinds = []schema.GroupVersionKind{{Kind: "Policy"}} })},
	{check: "exchanges", how: "no family", says: `the name ""`, plugin: exchangeOf(func(e *plugin.Exchange) { e.Remnants.Tables = []string{"fake"} })},
	{check: "exchanges", how: "always an obstacle", says: "none of the cases can take the place", plugin: exchangeOf(func(e *plugin.Exchange) {
		e.Obstacles = field.ErrorList{field.Forbidden(configPath.Child("mtu"), "must be absent while the type changes")}
	})},
	{check: "exchanges", how: "native routing that changes nothing", says: "RouteNatively leaves all that stands in the way", plugin: func() plugin.Plugin {
		return plugin.New[config](stubborn{exchanging{sound(), plugin.Exchange{}}})
	}},
}

// stubborn is an Exchanger that something stands in the way of, whatever it changes.
type stubborn struct{ exchanging }

func (stubborn) RouteNatively(*config) {}

func (stubborn) Exchange(effective *config, _ *plugin.Input, path *field.Path) plugin.Exchange {
	return plugin.Exchange{Remnants: plugin.Remnants{Image: "agent"}, Obstacles: field.ErrorList{field.Forbidden(path.Child("mtu"), "must be absent while the type changes")}}
}

func TestASoundExchangePassesAllChecks(t *testing.T) {
	NewWithT(t).Expect(problems(t, exchangeOf(func(*plugin.Exchange) {})(), soundOptions())).To(BeEmpty())
}
