// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/test/realagents/build"
)

// imagesFile names the images that Trellis renders.
const imagesFile = "plugins/calico/images.yaml"

// source is a repository that agents are built from. Its name is the environment variable with
// the path of a checkout.
type source struct {
	name, repository string
	// image is one that is built from it, if there is one with this source's own versions.
	image string
	// exact sources must be at the tag of the image. Others are named if they are not.
	exact bool
	// optional sources may be absent. The image is not built then.
	optional bool
}

// The sources by which the steps of a build know their checkouts.
const (
	calico             = "CALICO_SRC"
	bird               = "BIRD_SRC"
	libbpf             = "LIBBPF_SRC"
	autoscaler         = "CPA_SRC"
	verticalAutoscaler = "CPVPA_SRC"
)

var sources = []source{
	{name: calico, repository: "github.com/projectcalico/calico", image: "calico-node", exact: true},
	{name: bird, repository: "github.com/projectcalico/bird"},
	{name: libbpf, repository: "github.com/libbpf/libbpf"},
	{name: autoscaler, repository: "github.com/kubernetes-sigs/cluster-proportional-autoscaler", image: "calico-cpa", optional: true},
	{name: verticalAutoscaler, repository: "github.com/kubernetes-sigs/cluster-proportional-vertical-autoscaler", image: "calico-cpva", optional: true},
}

// checkout is a source on this machine.
type checkout struct {
	dir, commit string
	tags        []string
}

// locate finds the checkouts of all sources. Notes are what else users should know. The error
// names all that is missing or, where it must be exact, has another tag than Trellis renders.
func locate(images map[string]build.Image) (found map[string]checkout, notes []string, err error) {
	found = map[string]checkout{}
	for _, each := range sources {
		dir := os.Getenv(each.name)
		if dir == "" && each.name == libbpf && found[calico].dir != "" {
			// There Calico's own Makefile puts it.
			dir = filepath.Join(found[calico].dir, "felix", "bpf-gpl", "libbpf")
			if _, missing := os.Stat(dir); missing != nil {
				dir = ""
			}
		}
		if dir == "" && each.optional {
			notes = append(notes, fmt.Sprintf("there is no %s: pods of the image %s stay without it", each.name, images[each.image].Reference()))
			continue
		}
		one, problem := each.in(dir, images[each.image].Tag)
		if problem != nil {
			err = errors.Join(err, problem)
			continue
		}
		if tag := images[each.image].Tag; tag != "" && !slices.Contains(one.tags, tag) {
			notes = append(notes, fmt.Sprintf("%s is at %s %v, and %s names %s", each.name, one.commit[:12], one.tags, imagesFile, tag))
		}
		found[each.name] = one
	}
	return found, append(notes, differences(found)...), err
}

// in looks at a directory with the source. Exact sources must be at the tag.
func (s source) in(dir, tag string) (checkout, error) {
	wanted := s.repository
	if tag != "" {
		wanted += " at the tag " + tag
	}
	if dir == "" {
		return checkout{}, fmt.Errorf("%s is missing: the path of a checkout of %s", s.name, wanted)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return checkout{}, err
	}
	commit, err := git(dir, "rev-parse", "HEAD")
	if err != nil {
		return checkout{}, fmt.Errorf("%s=%s is no checkout of %s: %w", s.name, dir, wanted, err)
	}
	changed, err := git(dir, "status", "--porcelain", "--untracked-files=no")
	if err == nil && changed != "" {
		err = fmt.Errorf("%s=%s has changes that are not committed: %s", s.name, dir, changed)
	}
	if err != nil {
		return checkout{}, err
	}
	tags, err := git(dir, "tag", "--points-at", "HEAD")
	if err != nil {
		return checkout{}, err
	}
	one := checkout{dir: dir, commit: commit, tags: strings.Fields(tags)}
	if s.exact && !slices.Contains(one.tags, tag) {
		return checkout{}, fmt.Errorf("%s=%s is at %s %v, and %s names %s: check out this tag", s.name, dir, commit[:12], one.tags, imagesFile, tag)
	}
	return one, nil
}

// differences names sources that are others than those which this Calico is released with.
func differences(found map[string]checkout) []string {
	versions, err := metadata(found[calico].dir)
	if err != nil {
		return nil
	}
	var notes []string
	if wanted := versions["LIBBPF_VERSION"]; found[libbpf].dir != "" && !slices.Contains(found[libbpf].tags, wanted) {
		notes = append(notes, fmt.Sprintf("%s is at %s %v, and this Calico is released with %s", libbpf, found[libbpf].commit[:12], found[libbpf].tags, wanted))
	}
	wanted := versions["BIRD_VERSION"]
	_, abbreviated, _ := strings.Cut(wanted, "-g")
	if found[bird].dir != "" && !slices.Contains(found[bird].tags, wanted) && (abbreviated == "" || !strings.HasPrefix(found[bird].commit, abbreviated)) {
		notes = append(notes, fmt.Sprintf("%s is at %s %v, and this Calico is released with %s", bird, found[bird].commit[:12], found[bird].tags, wanted))
	}
	return notes
}

// metadata reads the versions that a checkout of Calico is built with.
func metadata(calico string) (map[string]string, error) {
	content, err := os.ReadFile(filepath.Join(calico, "metadata.mk"))
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			versions[strings.Trim(name, " :?")] = strings.TrimSpace(value)
		}
	}
	return versions, nil
}

func git(dir string, args ...string) (string, error) {
	output, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(output)), err
}
