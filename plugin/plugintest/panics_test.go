// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// impossible panics.
func impossible(facts *plugin.Input) string {
	return map[bool][]string{false: {"none"}}[facts.VPA][0]
}

// A panic in one kind of cluster is told with the hook, the place and the case, although
// the pipeline has caught it before.
func TestAPanicIsToldWithItsPlace(t *testing.T) {
	g := NewWithT(t)
	f := sound()
	f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
		_ = impossible(facts)
		return soundRender(c, facts)
	}
	_, begins := runtime.FuncForPC(reflect.ValueOf(impossible).Pointer()).FileLine(reflect.ValueOf(impossible).Pointer())
	found := problems(t, plugin.New[config](f), soundOptions())
	g.Expect(found).To(HaveKeyWithValue("rendering", ConsistOf(SatisfyAll(
		HavePrefix(fmt.Sprintf("the plugin panicked in Render at panics_test.go:%d: runtime error: index out of range", begins+1)),
		ContainSubstring(`(seen in case "no config" in a cluster with [IPv4] and a vertical pod autoscaler)`),
	))))
}

func TestAPanicOfTheSuiteIsNotThePlugins(t *testing.T) {
	g := NewWithT(t)
	found := &report{}
	func() {
		defer found.survive("here")
		panic("oh")
	}()
	g.Expect(found.problems).To(ConsistOf("plugintest panicked, which is no fault of the plugin's: oh\n(seen in here)"))
}
