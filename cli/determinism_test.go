// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// program calls the command line with all plugins, and expects it to succeed.
func program(t *testing.T, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	exit := cli.Run(args, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &err}, plugins.All(), providers.All())
	NewWithT(t).Expect(exit).To(Equal(cli.ExitOK), err.String())
	return out.String(), err.String()
}

// rich is a config with something in most of its blocks.
const rich = `{overlay: {enabled: false, createPodRoutes: true}, typha: {enabled: true}, ebpfDataplane: {enabled: true}, multus: {enabled: true},
  birdExporter: {enabled: true}, autoScaling: {mode: static, resources: {node: {memory: 1Gi, cpu: 0.5}}}, ipip: Never, vethMTU: "1440"}`

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	input := calicoShoot(rich, ", nodes: 10.250.0.0/16, pods: 10.1.0.0/16, services: 10.2.0.0/16, ipFamilies: [IPv4, IPv6]", ", verticalPodAutoscaler: {enabled: true}")
	for name, args := range map[string][]string{
		"YAML":       {"render", "-f", "-"},
		"JSON":       {"render", "-f", "-", "-o", "json", "--show-origins"},
		"seed":       {"render", "-f", "-", "--target", "seed"},
		"standalone": {"render", "-f", "-", "--mode", "standalone", "--feature-gates", "NonPrivilegedCalicoNode=true"},
		"request":    {"request", "-f", "-"},
		"validate":   {"validate", "-f", "-", "--show-origins"},
		"schema":     {"schema", "calico"},
		"explain":    {"explain", "calico.overlay.enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr := program(t, input, args...)
			NewWithT(t).Expect(stdout).NotTo(BeEmpty())
			for range 5 {
				again, said := program(t, input, args...)
				NewWithT(t).Expect(again).To(Equal(stdout))
				NewWithT(t).Expect(said).To(Equal(stderr))
			}
		})
	}
}

func TestADumpedRequestGivesTheSameBytesAnywhere(t *testing.T) {
	past := "status: {state: {applied: {config: {vethMTU: '1500', ipam: {type: host-local}}, sources: {vethMTU: user}}}}\n"
	for name, input := range map[string]string{
		"of a Shoot":   calicoShoot(rich, ", pods: 10.1.0.0/16, nodes: 10.250.0.0/16", ""),
		"of a Network": strings.Replace(network("net", "ns", rich), "noop", "calico", 1),
		"of both":      strings.Replace(network("net", "ns", rich), "noop", "calico", 1) + past + "---\n" + calicoShoot("{vethMTU: '1400'}", "", ""),
	} {
		for _, mode := range []string{"gardener", "standalone"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				g := NewWithT(t)
				dumped, _ := program(t, input, "request", "-f", "-", "--mode", mode)
				for _, flags := range [][]string{{"-o", "yaml"}, {"-o", "json", "--show-origins"}, {"--target", "seed"}} {
					direct, said := program(t, input, append([]string{"render", "-f", "-", "--mode", mode}, flags...)...)
					replayed, saidThen := program(t, dumped, append([]string{"render", "--request", "-"}, flags...)...)
					g.Expect(replayed).To(Equal(direct))
					g.Expect(withoutContradictions(saidThen)).To(Equal(withoutContradictions(said)))
				}
				g.Expect(filesOf(t, dumped, "--request", "-")).To(Equal(filesOf(t, input, "-f", "-", "--mode", mode)))
			})
		}
	}
}

// withoutContradictions is a report without what only documents beside each other
// can be blamed for, and without their numbers.
func withoutContradictions(report string) string {
	var kept strings.Builder
	for line := range strings.Lines(report) {
		if !strings.Contains(line, "but the Shoot has") {
			kept.WriteString(strings.Replace(line, "document 1: ", "", 1))
		}
	}
	return kept.String()
}

// filesOf are the files that render writes, by name.
func filesOf(t *testing.T, stdin string, args ...string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	directory := t.TempDir()
	program(t, stdin, append([]string{"render", "-o", "dir=" + directory}, args...)...)
	files := map[string]string{}
	g.Expect(filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[entry.Name()] = string(text)
		return err
	})).To(Succeed())
	g.Expect(len(files)).To(BeNumerically(">", 20))
	return files
}
