// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// impossible panics.
func impossible(facts *plugin.Input) string {
	return map[bool][]string{false: {"none"}}[facts.VPA][0]
}

// A panic in one kind of cluster is reported with the place and the case.
func TestAPanicIsReportedWithItsPlace(t *testing.T) {
	g := NewWithT(t)
	f := sound()
	f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
		_ = impossible(facts)
		return soundRender(c, facts)
	}
	_, begins := runtime.FuncForPC(reflect.ValueOf(impossible).Pointer()).FileLine(reflect.ValueOf(impossible).Pointer())
	found := problems(t, plugin.New[config](f), soundOptions())
	g.Expect(found).To(HaveKeyWithValue("rendering", ConsistOf(SatisfyAll(
		HavePrefix(fmt.Sprintf("a network has a defect, though its user did nothing wrong: the sound plugin panicked at panics_test.go:%d: runtime error: index out of range", begins+1)),
		ContainSubstring(`(seen in case "no config" in a cluster with [IPv4] and a vertical pod autoscaler)`),
	))))
}

// A panic of a library is reported where the plugin has called it.
func TestAPanicOfALibraryIsReportedWhereThePluginCallsIt(t *testing.T) {
	f := sound()
	f.render = func(*config, *plugin.Input) (plugin.Objects, error) {
		return plugin.Objects{}, errors.New(strings.Repeat("no objects", -1))
	}
	found := problems(t, plugin.New[config](f), soundOptions())
	NewWithT(t).Expect(found).To(HaveKeyWithValue("rendering", ContainElement(MatchRegexp(`the sound plugin panicked at panics_test.go:\d+: strings: negative Repeat count`))))
}
