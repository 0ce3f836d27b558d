// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"testing"

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

// checks are all of them, each in a file of its own. Those after determinism rely on it:
// if a network differs from one build to the next, they do not compare networks.
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
	{"adaptation", adaptation},
	{"readme", readme},
}

// Option is an argument of Run: a Case, or what a function of this package returns.
type Option interface{ apply(*suite) }

// Case is a network that the plugin must be able to make. Run tries it in clusters of
// all IP families and kube-proxy modes, and of other kinds; it must have objects in
// one of them at least, and in the others either objects or errors that say why not.
type Case struct {
	// Name tells cases apart.
	Name string
	// Config is the providerConfig in YAML. Empty is none.
	Config string
	// In changes what is known of the cluster, for example the infrastructure, if it
	// is there. It must not change IP families, ranges and kube-proxy.
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

// WithWildcard justifies that a Role or ClusterRole has a right to everything of some
// kind, or that a binding gives cluster-admin or names system:masters, for the reason
// given. The object is called as in a report: "ClusterRole name" or "Role namespace/name".
// It is an error if it has no wildcard, so that no justification outlives what it
// justifies.
func WithWildcard(object, reason string) Option {
	return justify(fmt.Sprintf("WithWildcard(%q)", object), reason)
}

// WithWatched justifies that pods of a DaemonSet do not restart when a ConfigMap changes
// that they read: they notice it by themselves, for the reason given. Both are called as
// in a report: "DaemonSet namespace/name" and "ConfigMap namespace/name". It is an error
// if they restart.
func WithWatched(workload, configMap, reason string) Option {
	return justify(fmt.Sprintf("WithWatched(%q, %q)", workload, configMap), reason)
}

// WithMissing justifies that something refers to an object which no network of the plugin
// has, for the reason given. The object is called as in a report: "ClusterRole name" or
// "ConfigMap namespace/name". It is an error if nothing that is missing is called so.
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
