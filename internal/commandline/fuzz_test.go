// SPDX-License-Identifier: Apache-2.0

package commandline_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/internal/commandline"
)

// parsed is what a program with the flags cloud and controllers finds in its command line. It
// parses it as Kubernetes' components do, but for flags that it does not know.
type parsed struct {
	cloud       string
	controllers []string
	isSet       bool
	err         error
}

func parse(c *corev1.Container) (p parsed) {
	all := slices.Concat(c.Command, c.Args)
	if len(c.Command) > 0 {
		all = all[1:]
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	flags.StringVar(&p.cloud, "cloud", "", "")
	flags.StringSliceVar(&p.controllers, "controllers", nil, "")
	p.err = flags.Parse(all)
	p.isSet = flags.Changed("cloud")
	return p
}

// FuzzFlags changes command lines of any entries, and compares what a program then parses.
func FuzzFlags(f *testing.F) {
	f.Add("kcm\n--a=1\n--cloud\naws\n--\n--cloud=x", uint8(3), "external")
	f.Add("kcm\n--cloud\naws\n--cloud_provider=x\n--cloud=b", uint8(9), "external")
	f.Add("kcm\n--controllers=*,a\n--controllers\nb", uint8(1), "c")
	f.Add("--cloud", uint8(0), "")
	f.Add("kcm\n--cloud=external", uint8(2), "external")
	f.Fuzz(func(t *testing.T, lines string, commands uint8, value string) {
		g := NewWithT(t)
		var all []string
		if lines != "" {
			all = strings.Split(lines, "\n")
		}
		if hasAmbiguousValue(all) {
			return
		}
		at := min(int(commands), len(all))
		original := &corev1.Container{Command: slices.Clone(all[:at]), Args: slices.Clone(all[at:])}
		before := parse(original)

		set := original.DeepCopy()
		commandline.String("cloud").Ensure(set, value)
		if before.err == nil {
			after := parse(set)
			g.Expect(after.err).NotTo(HaveOccurred())
			g.Expect(after.isSet).To(BeTrue())
			g.Expect(after.cloud).To(Equal(value))
			g.Expect(after.controllers).To(Equal(before.controllers), "it is another flag")
		}
		again := set.DeepCopy()
		commandline.String("cloud").Ensure(again, value)
		g.Expect(again).To(Equal(set), "a second time changes nothing")

		removed := set.DeepCopy()
		commandline.String("cloud").Remove(removed)
		g.Expect(len(removed.Command) > 0).To(Equal(len(original.Command) > 0), "the program stays")
		if before.err == nil {
			after := parse(removed)
			g.Expect(after.err).NotTo(HaveOccurred())
			g.Expect(after.isSet).To(BeFalse())
		}
		commandline.String("cloud").Ensure(removed, value)
		commandline.String("cloud").Remove(removed)
		original.Command, original.Args = slices.Clone(removed.Command), slices.Clone(removed.Args)
		commandline.String("cloud").Remove(removed)
		g.Expect(removed.Command).To(Equal(original.Command))
		g.Expect(removed.Args).To(Equal(original.Args))

		if strings.ContainsAny(value, ",\"\r\n") || value == "" {
			return // no item of a list
		}
		listed := set.DeepCopy()
		commandline.List("controllers").Ensure(listed, value)
		if after := parse(listed); before.err == nil && after.err == nil {
			g.Expect(after.controllers).To(ContainElement(value))
			others := func(p parsed) []string {
				return slices.DeleteFunc(append([]string{}, p.controllers...), func(item string) bool { return item == value })
			}
			g.Expect(others(after)).To(Equal(others(before)))
		}
		twice := listed.DeepCopy()
		commandline.List("controllers").Ensure(twice, value)
		g.Expect(twice).To(Equal(listed), "a second time changes nothing")
	})
}

// hasAmbiguousValue reports whether a value that is an entry of its own looks like a flag. Only
// who knows all of a program's flags can tell it from one.
func hasAmbiguousValue(all []string) bool {
	for i := 1; i < len(all); i++ {
		if strings.HasPrefix(all[i-1], "-") && !strings.Contains(all[i-1], "=") && strings.HasPrefix(all[i], "--") {
			return true
		}
	}
	return false
}
