// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/overview"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func flannels(t *testing.T) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New([]plugin.Plugin{flannel.New()}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p
}

// networks are those of a file of testdata.
func networks(t *testing.T, name string) (all []*extensionsv1alpha1.Network) {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		n := &extensionsv1alpha1.Network{}
		NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(document), n)).To(Succeed())
		all = append(all, n)
	}
	return all
}

// testdata/networks.txt shows reviewers what users see.
func TestANetworkIsReadable(t *testing.T) {
	g := NewWithT(t)
	var text strings.Builder
	for _, n := range networks(t, "networks.yaml") {
		told := overview.Of(n, flannels(t))
		for _, line := range told.Tree(now).Lines(100) {
			g.Expect(utf8.RuneCountInString(line)).To(BeNumerically("<=", 100), line)
			text.WriteString(line + "\n")
		}
		text.WriteString("\n")
	}
	const golden = "testdata/networks.txt"
	if os.Getenv("UPDATE") != "" {
		g.Expect(os.WriteFile(golden, []byte(text.String()), 0o644)).To(Succeed())
	}
	want, err := os.ReadFile(golden)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text.String()).To(Equal(string(want)))
}

// The status has the hour of the latest report, which says nothing while probes report.
func TestReportsThatAreMissingForLongAreDated(t *testing.T) {
	g := NewWithT(t)
	told := overview.Of(networks(t, "networks.yaml")[0], flannels(t))
	at := func(hour, minute int) string {
		return strings.Join(told.Tree(time.Date(2026, 3, 1, hour, minute, 0, 0, time.UTC)).Lines(0), "\n")
	}
	for _, fresh := range []string{at(10, 59), at(11, 59), at(12, 4)} {
		g.Expect(fresh).To(And(ContainSubstring("100 % pass"), Not(ContainSubstring("latest report"))))
	}
	g.Expect(at(12, 6)).To(ContainSubstring("100 % pass; the latest report is of the hour from 2026-03-01 11:00 UTC"))
}

func TestTheStateIsTheGravest(t *testing.T) {
	operation := func(kind corev1beta1.LastOperationType, state corev1beta1.LastOperationState) *corev1beta1.LastOperation {
		return &corev1beta1.LastOperation{Type: kind, State: state}
	}
	conditions := func(statuses ...corev1beta1.ConditionStatus) (all []corev1beta1.Condition) {
		for _, status := range statuses {
			all = append(all, corev1beta1.Condition{Status: status})
		}
		return all
	}
	const yes, no, progressing, unknown = corev1beta1.ConditionTrue, corev1beta1.ConditionFalse, corev1beta1.ConditionProgressing, corev1beta1.ConditionUnknown
	done := operation(corev1beta1.LastOperationTypeReconcile, corev1beta1.LastOperationStateSucceeded)
	for _, test := range []struct {
		state      overview.State
		last       *corev1beta1.LastOperation
		observed   int64
		conditions []corev1beta1.Condition
	}{
		{overview.Waiting, nil, 0, nil},
		{overview.Processing, operation(corev1beta1.LastOperationTypeCreate, corev1beta1.LastOperationStateProcessing), 0, nil},
		{overview.Failed, operation(corev1beta1.LastOperationTypeReconcile, corev1beta1.LastOperationStateError), 2, conditions(yes)},
		{overview.Migrated, operation(corev1beta1.LastOperationTypeMigrate, corev1beta1.LastOperationStateSucceeded), 2, nil},
		{overview.Waiting, done, 1, conditions(yes)},
		{overview.Unknown, done, 2, nil},
		{overview.Healthy, done, 2, conditions(yes, yes)},
		{overview.Unknown, done, 2, conditions(yes, unknown)},
		{overview.Progressing, done, 2, conditions(progressing, unknown)},
		{overview.Progressing, done, 2, conditions(unknown, progressing)},
		{overview.Unhealthy, done, 2, conditions(progressing, no, yes)},
	} {
		n := &extensionsv1alpha1.Network{}
		n.Generation, n.Status.ObservedGeneration = 2, test.observed
		n.Status.LastOperation, n.Status.Conditions = test.last, test.conditions
		told := overview.Of(n, flannels(t))
		NewWithT(t).Expect(told.State).To(Equal(test.state), "%+v", test)
	}
}

func TestWhatCannotBeReadIsTold(t *testing.T) {
	for problem, change := range map[string]func(*extensionsv1alpha1.Network){
		`no plugin for the type "another"`:      func(n *extensionsv1alpha1.Network) { n.Spec.Type = "another" },
		"status.providerStatus is not Trellis'": func(n *extensionsv1alpha1.Network) { n.Status.ProviderStatus.Raw = []byte(`{"components": 7}`) },
		"status.state is not Trellis'":          func(n *extensionsv1alpha1.Network) { n.Status.State.Raw = []byte(`[]`) },
		"unknown: providerConfig.backend.type:": func(n *extensionsv1alpha1.Network) {
			n.Status.State.Raw = []byte(`{"applied": {"config": {"backend": {"type": 7}}}}`)
		},
	} {
		n := networks(t, "networks.yaml")[0]
		change(n)
		told := overview.Of(n, flannels(t))
		NewWithT(t).Expect(told.Problem).To(ContainSubstring(problem))
		NewWithT(t).Expect(strings.Join(told.Tree(now).Lines(0), "\n")).To(ContainSubstring("problem"))
	}
}

// Of a network of a type that this program has no plugin for, the operator tells how packets travel.
func TestTheStatusTellsHowPacketsTravelWhereThereIsNoPlugin(t *testing.T) {
	g := NewWithT(t)
	n := networks(t, "networks.yaml")[0]
	n.Spec.Type = "other"
	g.Expect(overview.Of(n, flannels(t))).To(And(HaveField("DataPath", ""), HaveField("Problem", ContainSubstring("how packets travel is unknown"))))
	n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"dataPath": "by \u001bmail"}`)}
	told := overview.Of(n, flannels(t))
	g.Expect(told).To(And(HaveField("DataPath", "by \x1bmail"), HaveField("Problem", "")))
	text := strings.Join(told.Tree(now).Lines(80), "\n")
	g.Expect(text).To(And(ContainSubstring("mail"), Not(ContainSubstring("\x1b"))))
}

// A Network that waits for an update is as healthy as before, and is told what it waits for.
func TestANetworkThatWaitsForAnUpdateIsAsHealthyAsBefore(t *testing.T) {
	g := NewWithT(t)
	n := networks(t, "networks.yaml")[0]
	before := overview.Of(n, flannels(t)).State
	n.Status.Conditions = append(n.Status.Conditions, corev1beta1.Condition{
		Type: extensionsv1alpha1.NetworkUpToDate, Status: corev1beta1.ConditionFalse, Reason: "RolloutHalted", Message: "The roll-out is halted",
	})
	told := overview.Of(n, flannels(t))
	g.Expect(told.State).To(Equal(before))
	g.Expect(strings.Join(told.Tree(now).Lines(80), "\n")).To(MatchRegexp("update +RolloutHalted for .*: The roll-out is halted"))
}

// The author of a status cannot control the terminal of its reader, nor fill it.
func TestAHostileStatusIsHarmless(t *testing.T) {
	g := NewWithT(t)
	n := networks(t, "networks.yaml")[0]
	raw, err := json.Marshal(n)
	g.Expect(err).NotTo(HaveOccurred())
	const control = `\u001b]0;owned\u0007\u009b2J\u202e\n`
	hostile := strings.NewReplacer(`pods on node-b`, control, `"node-b"`, `"`+control+`"`, "All network", control, "10.96.", control, "works", control).Replace(string(raw))
	n = &extensionsv1alpha1.Network{}
	g.Expect(json.Unmarshal([]byte(hostile), n)).To(Succeed())
	n.Status.LastOperation.Description = strings.Repeat("\x1b[31m", 100_000)
	for range 1000 {
		n.Status.Conditions = append(n.Status.Conditions, corev1beta1.Condition{Type: "\x1b[2J", Message: "\x1b"})
	}
	n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"connectivityTests": {"summary": {"worst": [` + strings.Repeat(`{"node": "\u001b"},`, 999) + `{}]}}}`)}
	told := overview.Of(n, flannels(t))
	lines := told.Tree(now).Lines(80)
	g.Expect(len(lines)).To(BeNumerically("<", 300))
	for _, r := range strings.Join(lines, "") {
		g.Expect(unicode.IsPrint(r)).To(BeTrue(), "%U", r)
	}
	g.Expect(strings.Join(lines, "\n")).To(ContainSubstring("and 952 more"))
}
