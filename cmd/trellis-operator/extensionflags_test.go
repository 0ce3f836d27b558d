// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
)

// run starts the command with wrong flags, and returns what it says.
func run(args ...string) error {
	cmd := command()
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return cmd.Execute()
}

// An operator of a landscape who starts Trellis as it has started Gardener's extension learns what
// to write instead.
func TestFlagsOfGardenersExtensionsAreRefusedWithWhatTakesTheirPlace(t *testing.T) {
	g := NewWithT(t)
	err := run("--max-concurrent-reconciles=5")
	g.Expect(err).To(BeAssignableToTypeOf(misuse{}))
	g.Expect(err).To(MatchError(And(ContainSubstring("unknown flag: --max-concurrent-reconciles"), ContainSubstring("controllers.network.concurrentSyncs"))))
	g.Expect(run("--config-file", "x")).To(MatchError(ContainSubstring("--config FILE")))
	g.Expect(run("--webhook-config-server-port=10250")).To(MatchError(ContainSubstring("webhooks.bindAddress")))
	g.Expect(run("--nonsense")).To(MatchError(Not(ContainSubstring("Gardener"))))
}

// What is advised exists.
func TestWhatIsAdvisedInPlaceOfAFlagExists(t *testing.T) {
	g := NewWithT(t)
	for name, advice := range extensionFlags {
		g.Expect(command().Flags().Lookup(name)).To(BeNil(), "%s is a flag of Trellis, too", name)
		for word := range strings.FieldsSeq(advice) {
			if flag, is := strings.CutPrefix(word, "--"); is {
				g.Expect(command().Flags().Lookup(strings.TrimRight(flag, ",;"))).NotTo(BeNil(), name)
			}
		}
		if field, is := strings.CutPrefix(advice, "write "); is {
			path, _, _ := strings.Cut(field, " ")
			document := ""
			for i, field := range strings.Split(path, ".") {
				document += "\n" + strings.Repeat(" ", i) + field + ":"
			}
			if strings.HasSuffix(path, "Interval") {
				document += " 30s"
			}
			_, err := configv1alpha1.Load([]byte(document))
			g.Expect(err).NotTo(HaveOccurred(), name)
		}
	}
}
