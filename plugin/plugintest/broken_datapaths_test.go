// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// travelling is a DataPathDescriber.
type travelling struct {
	*fake[config]
	path func(*config) plugin.DataPath
}

func (t travelling) DescribeDataPath(c *config) plugin.DataPath { return t.path(c) }

// travels makes mode routed rely on routes of the infrastructure, with this advice.
func travels(at string, instead ...plugin.Edit) func() plugin.Plugin {
	return func() plugin.Plugin { return plugin.New[config](travelling{sound(), routed(at, instead...)}) }
}

func routed(at string, instead ...plugin.Edit) func(*config) plugin.DataPath {
	return func(c *config) plugin.DataPath {
		if c.Mode == nil || *c.Mode == "tunnel" {
			return plugin.DataPath{Packets: "through a tunnel", Router: "the agents"}
		}
		return plugin.DataPath{Packets: "no encapsulation", Field: at, Instead: instead}
	}
}

func writing(path string, value any) plugin.Edit {
	return plugin.Edit{Values: map[string]any{path: value}}
}

// brokenDataPaths leave users alone who have no routes.
var brokenDataPaths = []broken{
	{check: "routes", how: "no advice", says: "users are not told what to do where there are none", plugin: travels("mode")},
	{check: "routes", how: "no field", says: "Field of the DataPath is node, which is no field", plugin: travels("node", writing("mode", "tunnel"))},
	{check: "routes", how: "advice that changes nothing", says: `is refused ("write mtu: 1300", in a running network: false)`, plugin: travels("mode", writing("mtu", 1300))},
	{check: "routes", how: "advice of a field that does not exist", says: `is refused ("write tunnel: true"`, plugin: travels("mode", writing("tunnel", true))},
	// What the infrastructure has decided is kept when the user says nothing.
	{check: "routes", how: "advice that a running network does not follow", says: `is refused ("leave mode out", in a running network: true)`,
		plugin: travels("mode", writing("mode", nil))},
}

func TestASoundDataPathPassesAllChecks(t *testing.T) {
	NewWithT(t).Expect(problems(t, travels("mode", writing("mode", "tunnel"))(), soundOptions())).To(BeEmpty())
}
