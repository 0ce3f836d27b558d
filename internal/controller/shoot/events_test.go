// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// lines collects the lines that the controller logs.
type lines struct {
	mutex sync.Mutex
	all   []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.all = append(l.all, line)
	}, funcr.Options{})
}

var (
	change   = regexp.MustCompile(`"msg"="Shoot changed state".*`)
	duration = regexp.MustCompile(`"duration"="[^"]+"`)
	common   = regexp.MustCompile(`"(controller|controllerGroup|controllerKind|Shoot|namespace|name|reconcileID)"=("[^"]*"|\{[^}]*\}) `)
)

// changes returns the lines about changes of state.
func (l *lines) changes() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var found []string
	for _, line := range l.all {
		if match := change.FindString(line); match != "" {
			found = append(found, duration.ReplaceAllString(common.ReplaceAllString(match, ""), `"duration"=""`))
		}
	}
	return found
}

// announces waits for an event of this type and reason about the Shoot whose note
// contains a text.
func (e *env) announces(typeAndReason, text string) {
	e.t.Helper()
	e.Eventually(func(g Gomega) {
		list := &eventsv1.EventList{}
		g.Expect(e.client.List(e.t.Context(), list, client.InNamespace(e.project))).To(Succeed())
		g.Expect(slices.ContainsFunc(list.Items, func(event eventsv1.Event) bool {
			return event.Regarding.Kind == "Shoot" && event.Type+" "+event.Reason == typeAndReason && strings.Contains(event.Note, text)
		})).To(BeTrue(), "%v", list.Items)
	}).Should(Succeed())
}

func TestEachChangeOfStateIsALineAndAnEvent(t *testing.T) {
	e := setup(t)
	s := e.shoot()
	e.becomes(s, create, failing)
	e.announces("Warning ReconcileError", "example.kubeconfig does not exist")
	e.kubeconfig(kubeconfig)
	e.applied()
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, create, succeeded)
	e.announces("Normal Reconciled", "Successfully reconciled Shoot")
	e.stays(s)
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	e.gone(s)

	keys := func(operation, state, outcome, reason string) string {
		return `"msg"="Shoot changed state" "shoot"="` + e.project + `/example" "network"="` + e.controlPlane + `/example" "type"="example" ` +
			`"operation"="` + operation + `" "state"="` + state + `" "outcome"="` + outcome + `" "reason"="` + reason + `" "duration"=""`
	}
	e.Eventually(func() []string { return e.log.changes() }).Should(HaveLen(5))
	found := e.log.changes()
	e.Expect(found[0]).To(Equal(keys("Create", "Error", "terminal", "the Secret "+e.project+
		"/example.kubeconfig does not exist: create it with the shoot's kubeconfig under the key kubeconfig")))
	e.Expect(found[1]).To(ContainSubstring(`"operation"="Create" "state"="Processing" "outcome"="waiting" "reason"="the Network`))
	e.Expect(found[2]).To(Equal(keys("Create", "Succeeded", "done", "")))
	e.Expect(found[3]).To(ContainSubstring(`"operation"="Delete" "state"="Processing" "outcome"="waiting"`))
	e.Expect(found[4]).To(Equal(keys("Delete", "Succeeded", "done", "")))
}
