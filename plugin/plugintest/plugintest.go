// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"

	"github.com/trellis-network/trellis/plugin"
)

// Run makes each check in a subtest of its own, named as in the documentation of the
// package. What it tries is the same each time. Besides the cases among the options it
// tries a network of which its user says nothing.
func Run(t *testing.T, p plugin.Plugin, options ...Option) {
	t.Helper()
	s, err := newSuite(p, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			found := reportOn(s, c)
			for _, problem := range found.list() {
				t.Error(problem)
			}
			if found.skipped != "" {
				t.Skip(found.skipped)
			}
		})
	}
}

// check is about one requirement of every plugin.
type check struct {
	name string
	run  func(*suite, *report)
}

// checks are all of them. Those after determinism do not compare networks if it finds that a
// network differs from one build to the next.
var checks = []check{
	{"determinism", determinism},
	{"purity", purity},
	{"decoding", decoding},
	{"defaults", defaults},
	{"validation", validation},
	{"rendering", rendering},
	{"api-server", apiServer},
	{"workloads", workloads},
	{"images", images},
	{"rights", rights},
	{"changes", changes},
	{"transitions", transitions},
	{"exchanges", exchanges},
	{"routes", routes},
	{"adaptation", adaptation},
	{"shoots", shoots},
	{"readme", readme},
}

// Option is an argument of Run: a Case, or what a function of this package returns.
type Option interface{ apply(*suite) }

// Case is a network that the plugin must be able to make. Run tries it in clusters of all IP
// families, kube-proxy modes and other kinds; it must have objects in one of them at least,
// and in the others either objects or errors that say why not.
type Case struct {
	// Name tells cases apart.
	Name string
	// Config is the providerConfig in YAML. Empty is none.
	Config string
	// In, if there is one, changes what is known of the cluster, for example the
	// infrastructure, but not IP families, ranges and kube-proxy.
	In func(*plugin.Input)
}

func (c Case) apply(s *suite) { s.cases = append(s.cases, c) }

type option func(*suite)

func (o option) apply(s *suite) { o(s) }

// WithAPIServer names an API server for the check api-server. Objects are only sent as
// dry-runs, except for definitions of kinds and the namespaces of objects: those are
// created, and deleted in the end. config must be allowed to do all that.
func WithAPIServer(config *rest.Config) Option {
	return option(func(s *suite) { s.apiServer = config })
}

// WithWildcard gives the reason why a Role or ClusterRole has a right to everything of some
// kind, or why a binding gives cluster-admin or names system:masters. The object is called
// as in a report: "ClusterRole name" or "Role namespace/name". It is an error if it has no
// wildcard, so that no justification outlives what it justifies.
func WithWildcard(object, reason string) Option {
	return justify(fmt.Sprintf("WithWildcard(%q)", object), reason)
}

// WithWatched gives the reason why pods of a DaemonSet do not restart when a ConfigMap
// changes that they read: they notice it by themselves. Both are called as in a report:
// "DaemonSet namespace/name" and "ConfigMap namespace/name". It is an error if they restart.
func WithWatched(workload, configMap, reason string) Option {
	return justify(fmt.Sprintf("WithWatched(%q, %q)", workload, configMap), reason)
}

// WithMissing gives the reason why something refers to an object which no network of the
// plugin has. The object is called as in a report: "ClusterRole name" or "ConfigMap
// namespace/name". It is an error if nothing that is missing is called so.
func WithMissing(object, reason string) Option {
	return justify(fmt.Sprintf("WithMissing(%q)", object), reason)
}

func justify(exception, reason string) Option {
	return option(func(s *suite) { s.reasons[exception] = reason })
}

// NeedsKubeProxy declares that only kube-proxy implements Services in networks of the
// plugin. The plugin must then refuse every cluster without kube-proxy. Other plugins
// must serve such a cluster in at least one case.
func NeedsKubeProxy() Option {
	return option(func(s *suite) { s.needsKubeProxy = true })
}

// WithREADME sets the path of the plugin's README from the folder of the test's package.
// The default is README.md.
func WithREADME(path string) Option {
	return option(func(s *suite) { s.readme = path })
}

// mostProblems is how many problems of one check are printed.
const mostProblems = 20

// report is what one check has found.
type report struct {
	problems []string
	known    sets.Set[string] // the problems without where
	where    string           // what the check looks at
	skipped  string           // why the check could not be made; empty if it was
}

// reportOn makes a check. A panic of the plugin ends it and is a problem.
func reportOn(s *suite, c check) *report {
	found := &report{known: sets.New[string]()}
	err := plugin.Guard(s.plugin.Type, func() error {
		c.run(s, found)
		return nil
	})
	if err != nil {
		found.breach("%v", err)
	}
	return found
}

// breach notes a problem, wherever it is seen only once: what is wrong, and what to do.
func (r *report) breach(format string, args ...any) {
	problem := fmt.Sprintf(format, args...)
	if r.known.Has(problem) {
		return
	}
	r.known.Insert(problem)
	if r.where != "" {
		problem += "\n(seen in " + r.where + ")"
	}
	r.problems = append(r.problems, problem)
}

// list returns the problems, if they are not too many.
func (r *report) list() []string {
	more := len(r.problems) - mostProblems
	if more <= 0 {
		return r.problems
	}
	return append(slices.Clone(r.problems[:mostProblems]), fmt.Sprintf("and %d more", more))
}
