// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// remnantName is a name that a shell takes as it is.
var remnantName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)

// remnantPrefix is how the names of several things begin, that a shell takes as it is between quotes.
var remnantPrefix = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 ._:-]+$`)

// others are how the chains and the comments begin of what else writes rules on nodes.
var others = []string{"KUBE-", "kubernetes ", "CNI-"}

// exchanges: what stands in the way of another type has a path and says what to do, and what the agents of an
// Exchanger leave behind can be taken away by a script.
func exchanges(s *suite, found *report) {
	possible, isExchanger := false, false
	for _, n := range s.plainNetworks() {
		if n.config == nil {
			continue
		}
		found.where = n.name
		given, is := s.plugin.Exchange(n.config, n.input(), configPath)
		if !is {
			return
		}
		isExchanger = true
		possible = possible || len(given.Obstacles) == 0
		for _, err := range given.Obstacles {
			if field, inConfig := strings.CutPrefix(err.Field, configPath.String()+"."); !inConfig || !s.paths.MatchString(field) {
				found.breach("an obstacle of Exchange has the path %s, which is no field of the config", err.Field)
			}
			if err.Detail == "" {
				found.breach("the obstacle at %s does not say what to do", err.Field)
			}
		}
		if native, is := s.pipeline.Native(n.request); is {
			built := s.build(network{request: native})
			if !built.renders() {
				found.breach("with RouteNatively, it is no valid network: %v", built.result.Errors.ToAggregate())
			} else if then, _ := s.plugin.Exchange(built.config, built.input(), configPath); len(then.Obstacles) >= len(given.Obstacles) {
				found.breach("RouteNatively leaves all that stands in the way; change the config, or leave the method out")
			}
		}
		left := given.Remnants
		if _, known := s.plugin.Images.Tags()[left.Image]; !known {
			found.breach("the Remnants of Exchange have the image %q, which is not among the plugin's images", left.Image)
		}
		for _, file := range left.Files {
			begins := strings.TrimSuffix(file, "*")
			if !path.IsAbs(begins) || path.Clean(begins) != begins || path.Dir(begins) == "/" || slices.ContainsFunc(strings.Split(begins[1:], "/"), func(part string) bool { return !remnantName.MatchString(part) }) {
				found.breach("Exchange leaves the file %q; write an absolute path below a folder, without what a shell would replace", file)
			}
		}
		for _, mount := range left.Mounts {
			if !slices.ContainsFunc(left.Files, func(file string) bool { return strings.HasPrefix(mount, file+"/") }) {
				found.breach("Exchange leaves the mount %q, which is in none of the Files", mount)
			}
		}
		for _, table := range left.RouteTables {
			if table < 1 || table >= 253 && table <= 255 {
				found.breach("Exchange leaves the table %d of routes, which is the kernel's own", table)
			}
		}
		for _, kind := range given.Kinds {
			if kind.Version == "" || kind.Kind == "" {
				found.breach("Exchange states the kind %q, which needs a version and a kind", kind)
			}
		}
		for what, prefixes := range map[string][]string{"chains": left.Chains, "comments": left.Comments, "IP sets": left.Sets, "programs": left.Programs} {
			for _, prefix := range prefixes {
				if !remnantPrefix.MatchString(prefix) || slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(prefix, other) || strings.HasPrefix(other, prefix) }) {
					found.breach("Exchange leaves the %s %q; write how the names of those begin that are the network's own, without what a shell would replace", what, prefix)
				}
			}
		}
		names := slices.Clone(left.Interfaces)
		for _, table := range left.Tables {
			family, name, _ := strings.Cut(table, " ")
			names = append(names, family, name)
		}
		for _, name := range names {
			if !remnantName.MatchString(name) {
				found.breach("Exchange leaves something with the name %q, which a shell would take for something else", name)
			}
		}
	}
	if found.where = ""; isExchanger && !possible {
		found.breach("none of the cases can take the place of a network of another type; add a case without Obstacles, or leave Exchange out")
	}
}
