// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/realagents/build"
)

var rendered = map[string]build.Image{
	"calico-node": {Repository: "example.org/node", Tag: "v3.31.6"}, "calico-cpa": {Repository: "example.org/cpa", Tag: "v1.10.3"}, "calico-cpva": {Repository: "example.org/cpva", Tag: "v0.8.10"},
}

// repository makes a checkout at a tag.
func repository(t *testing.T, tag string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	g := NewWithT(t)
	g.Expect(os.WriteFile(filepath.Join(dir, "metadata.mk"), []byte("LIBBPF_VERSION=v1.4.6\nBIRD_VERSION=v0.3.3\n"), 0o644)).To(Succeed())
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "all"}, {"tag", tag},
	} {
		output, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(output))
	}
	return dir
}

func use(t *testing.T, checkouts map[string]string) {
	t.Helper()
	for _, each := range sources {
		t.Setenv(each.name, checkouts[each.name])
	}
}

func TestAllSourcesThatAreMissingAreNamed(t *testing.T) {
	use(t, nil)
	_, notes, err := locate(rendered)
	g := NewWithT(t)
	g.Expect(err).To(MatchError(And(
		ContainSubstring("CALICO_SRC is missing: the path of a checkout of github.com/projectcalico/calico at the tag v3.31.6"),
		ContainSubstring("BIRD_SRC is missing"), ContainSubstring("LIBBPF_SRC is missing"))))
	g.Expect(notes).To(ConsistOf(
		"there is no CPA_SRC: pods of the image example.org/cpa:v1.10.3 stay without it",
		"there is no CPVPA_SRC: pods of the image example.org/cpva:v0.8.10 stay without it"))
}

func TestACheckoutMustHaveTheTagThatTrellisRenders(t *testing.T) {
	use(t, map[string]string{calico: repository(t, "v3.31.5"), bird: t.TempDir(), autoscaler: repository(t, "v1.10.3")})
	_, _, err := locate(rendered)
	NewWithT(t).Expect(err).To(MatchError(And(
		MatchRegexp(`CALICO_SRC=\S+ is at \S+ \[v3\.31\.5\], and plugins/calico/images\.yaml names v3\.31\.6`),
		ContainSubstring("is no checkout of github.com/projectcalico/bird"), Not(ContainSubstring("CPA_SRC")))))
}

func TestACheckoutMustBeAsItWasReleased(t *testing.T) {
	dir := repository(t, "v3.31.6")
	g := NewWithT(t)
	g.Expect(os.WriteFile(filepath.Join(dir, "metadata.mk"), nil, 0o644)).To(Succeed())
	use(t, map[string]string{calico: dir})
	_, _, err := locate(rendered)
	g.Expect(err).To(MatchError(ContainSubstring("has changes that are not committed: M metadata.mk")))
}

// libbpf and BIRD are built with whatever they are, since Calico names commits of them, and so are
// autoscalers, which are no part of Calico.
func TestOtherVersionsOfWhatCalicoUsesAreNamed(t *testing.T) {
	dir := repository(t, "v3.31.6")
	use(t, map[string]string{calico: dir, bird: repository(t, "v0.3.3"), libbpf: repository(t, "v1.5.0"), verticalAutoscaler: repository(t, "v0.8.9"), autoscaler: repository(t, "v1.10.3")})
	found, notes, err := locate(rendered)
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(And(HaveKey(calico), HaveKey(bird), HaveKey(libbpf), HaveLen(5)))
	g.Expect(notes).To(ContainElement(MatchRegexp(`LIBBPF_SRC is at \S+ \[v1\.5\.0\], and this Calico is released with v1\.4\.6`)))
	g.Expect(notes).To(ContainElement(MatchRegexp(`CPVPA_SRC is at \S+ \[v0\.8\.9\], and plugins/calico/images\.yaml names v0\.8\.10`)))
	g.Expect(notes).NotTo(ContainElement(Or(HavePrefix("BIRD_SRC"), HavePrefix("CPA_SRC"))))
}
