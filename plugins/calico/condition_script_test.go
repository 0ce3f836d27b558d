// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
)

const ensurer = "network-unavailable-condition-ensurer"

// standalone is a cluster without Gardener.
func standalone(facts *plugin.Input) {
	facts.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"}
}

// ensured runs the script of the ensurer until its second pause. formerPod is whether another
// pod of calico-node has ended on the node.
func ensured(t *testing.T, n *network, formerPod bool) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shutdownTS")
	if formerPod {
		if err := os.WriteFile(file, []byte("2026-01-01T12:00:00Z"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return runScript(t, n.container(ensurer).Command, map[string]string{
		"sleep": built.UntilSecondPause, "calico-node": stub(`echo "backend $CALICO_NETWORKING_BACKEND, Felix $FELIX_HEALTHENABLED" >>"$CALLS"`),
	}, "SHUTDOWN_FILE="+file, "CALICO_NETWORKING_BACKEND="+n.data("calico-config")["calico_backend"])
}

// Calico v3.31 sets the condition only if it is asked to complete the start.
func TestTheConditionIsSetOnceAfterAWhile(t *testing.T) {
	for _, formerPod := range []bool{false, true} {
		NewWithT(t).Expect(ensured(t, build(t, ""), formerPod)).To(Equal([]string{
			"sleep 30", "calico-node -startup -complete-startup", "backend bird, Felix ", "sleep 3600"}))
	}
}

// With backend none calico-node leaves the condition alone, unless it is told of another one.
func TestWithoutABackendOnlyWhatAFormerPodSetIsTakenBack(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "overlay: {enabled: false}", standalone)
	g.Expect(ensured(t, n, true)).To(Equal([]string{"sleep 30", "calico-node -complete-startup", "backend bird, Felix true", "sleep 3600"}))
	g.Expect(ensured(t, n, false)).To(Equal([]string{"sleep 30", "sleep 3600"}))
}

func TestAConditionThatCannotBeSetIsTriedAgain(t *testing.T) {
	for _, config := range []string{"", "overlay: {enabled: false}"} {
		n := build(t, config, standalone)
		ran := tryScript(t, n.container(ensurer).Command, map[string]string{"sleep": stub(""), "calico-node": stub("exit 1")},
			"SHUTDOWN_FILE=/dev/null", "CALICO_NETWORKING_BACKEND="+n.data("calico-config")["calico_backend"])
		NewWithT(t).Expect(ran.Err).To(HaveOccurred(), "the kubelet starts the container again")
	}
}

// Elsewhere the route controller of a cloud sets the condition once it has made the node's
// routes, and Gardener's extension has no such container either.
func TestWithoutABackendTheConditionIsEnsuredWhereNoCloudDoes(t *testing.T) {
	cloud := func(facts *plugin.Input) {
		facts.Infrastructure = plugin.Infrastructure{Type: "example", PodRoutes: true}
	}
	for name, test := range map[string]struct {
		config  string
		options []option
		want    bool
	}{
		"standalone":                             {"backend: none", []option{standalone}, true},
		"standalone, and the cloud makes routes": {"backend: none", []option{standalone, cloud}, false},
		"a landscape":                            {"backend: none", nil, false},
		"a landscape, and BIRD makes routes":     {podRoutes, nil, true},
		"a cloud, and BIRD makes routes":         {podRoutes, []option{cloud}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, test.config, test.options...)
			contains := ContainElement(ensurer)
			if !test.want {
				contains = Not(contains)
			}
			g.Expect(names(n.node().Spec.Template.Spec.Containers)).To(contains)
		})
	}
}

func TestUsersLearnThatNodesWaitForTheCloud(t *testing.T) {
	reasonOf := func(options ...option) (reason string) {
		for _, change := range changed(t, "", "overlay: {enabled: false}", options...).Changes {
			if change.Path == "backend" {
				reason = change.Reason
			}
		}
		return reason
	}
	const waits = "NetworkUnavailable=True (CalicoIsDown)"
	NewWithT(t).Expect(reasonOf()).To(ContainSubstring(waits))
	NewWithT(t).Expect(reasonOf(standalone)).To(And(Not(BeEmpty()), Not(ContainSubstring(waits))))
}
