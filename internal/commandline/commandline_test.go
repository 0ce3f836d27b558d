// SPDX-License-Identifier: Apache-2.0

package commandline_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/internal/commandline"
)

// container has a command and, behind a bar, args: "program --flag | --another".
func container(line string) *corev1.Container {
	command, args, _ := strings.Cut(line, "|")
	return &corev1.Container{Command: strings.Fields(command), Args: strings.Fields(args)}
}

func written(c *corev1.Container) string {
	line := strings.Join(c.Command, " ")
	if len(c.Args) > 0 {
		line += " | " + strings.Join(c.Args, " ")
	}
	return strings.TrimSpace(line)
}

func TestAFlagIsSetWhereItIs(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"missing, added to the command":           {"kcm --a=1", "kcm --a=1 --cloud=external"},
		"missing, added to the args":              {"kcm | --a=1", "kcm | --a=1 --cloud=external"},
		"missing, without a command":              {"| --a=1", "| --a=1 --cloud=external"},
		"missing, with the image's own command":   {"", "| --cloud=external"},
		"another value":                           {"kcm --cloud=aws --a=1", "kcm --cloud=external --a=1"},
		"another value, as an entry of its own":   {"kcm --cloud aws --a=1", "kcm --cloud=external --a=1"},
		"another value, in the args":              {"kcm --cloud | aws --a=1", "kcm --cloud=external | --a=1"},
		"set already":                             {"kcm --cloud=external --a=1", "kcm --cloud=external --a=1"},
		"set already, as an entry of its own":     {"kcm --cloud external --a=1", "kcm --cloud external --a=1"},
		"several times":                           {"kcm --cloud=external --a=1 --cloud=aws | --cloud gce --b", "kcm --cloud=external --a=1 | --b"},
		"without its value":                       {"kcm --a=1 --cloud", "kcm --a=1 --cloud=external"},
		"a longer name":                           {"kcm --cloud-config=/x", "kcm --cloud-config=/x --cloud=external"},
		"with what is no flag behind the flags":   {"kcm --a=1 -- --cloud=aws", "kcm --a=1 --cloud=external -- --cloud=aws"},
		"with what is no flag in front of flags":  {"kcm start --a=1", "kcm start --a=1 --cloud=external"},
		"the program has the name of the flag":    {"--cloud=aws --a=1", "--cloud=aws --a=1 --cloud=external"},
		"the value of another flag is an entry":   {"kcm --a cloud --b", "kcm --a cloud --b --cloud=external"},
		"what is no flag is in the args":          {"kcm --a=1 | -- x", "kcm --a=1 | --cloud=external -- x"},
		"an empty value":                          {"kcm --cloud= --a=1", "kcm --cloud=external --a=1"},
		"an empty entry is an entry of the order": {"kcm --a=1 - --b", "kcm --a=1 - --b --cloud=external"},
	} {
		t.Run(name, func(t *testing.T) {
			c := container(test.before)
			commandline.String("cloud").Ensure(c, "external")
			NewWithT(t).Expect(written(c)).To(Equal(test.after))
		})
	}
}

// Kubernetes' components accept underscores.
func TestUnderscoresInANameAreHyphens(t *testing.T) {
	g := NewWithT(t)
	c := container("kcm --cloud_provider=aws --a_b=1 --cloud-provider=gce")
	commandline.String("cloud-provider").Ensure(c, "external")
	g.Expect(written(c)).To(Equal("kcm --cloud-provider=external --a_b=1"))
}

func TestAFlagIsRemovedWithItsValue(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"absent":                   {"kcm --a=1", "kcm --a=1"},
		"with its value":           {"kcm --cloud=aws --a=1", "kcm --a=1"},
		"with its value's entry":   {"kcm --cloud aws --a=1", "kcm --a=1"},
		"several times":            {"kcm --cloud=aws --a=1 | --cloud gce", "kcm --a=1"},
		"without its value":        {"kcm --a=1 --cloud", "kcm --a=1"},
		"not behind what ends all": {"kcm -- --cloud=aws", "kcm -- --cloud=aws"},
	} {
		t.Run(name, func(t *testing.T) {
			c := container(test.before)
			commandline.String("cloud").Remove(c)
			NewWithT(t).Expect(written(c)).To(Equal(test.after))
		})
	}
}

func TestAnItemIsInAListOnce(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"no list":             {"kcm --a=1", "kcm --a=1 --controllers=-route"},
		"a list without it":   {"kcm --controllers=*,tokencleaner --a=1", "kcm --controllers=*,tokencleaner,-route --a=1"},
		"a list with it":      {"kcm --controllers=-route,* --a=1", "kcm --controllers=-route,* --a=1"},
		"an entry of its own": {"kcm --controllers * --a=1", "kcm --controllers=*,-route --a=1"},
		"an empty list":       {"kcm --controllers=", "kcm --controllers=-route"},
		"several lists":       {"kcm --controllers=* --a=1 | --controllers=-route,x", "kcm --controllers=*,-route,x --a=1"},
		"a longer item":       {"kcm --controllers=-route-table", "kcm --controllers=-route-table,-route"},
	} {
		t.Run(name, func(t *testing.T) {
			c := container(test.before)
			commandline.List("controllers").Ensure(c, "-route")
			NewWithT(t).Expect(written(c)).To(Equal(test.after))
		})
	}
}
