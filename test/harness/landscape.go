// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	// Patience is how long a condition may take on a slow machine. A fast one does not
	// wait for it.
	Patience = 2 * time.Minute
	// lookAgain is how often a test looks: each look is a request, and most of them find
	// what they found before.
	lookAgain = 50 * time.Millisecond
	// sideBySide is how many tests of a package run at a time. They mostly wait.
	sideBySide = "8"
)

// Landscape is the clusters of a package's tests.
type Landscape struct {
	*sandbox.Shared

	mutex    sync.Mutex
	clusters map[string]*Cluster // by the path of their kubeconfigs
}

// Seed is a seed for packages that need no shoot. All packages of a run share one.
func Seed() *Landscape { return landscape(sandbox.ShareWithRun(sandbox.Options{})) }

// SeedAndShoot is a seed and a shoot with two nodes. All packages of a run share both.
func SeedAndShoot() *Landscape { return landscape(sandbox.ShareWithRun(sandbox.OfRun)) }

// Own is a sandbox that a package has for itself. The map own, in the test of this package,
// lists the packages that have one, and why.
func Own(options sandbox.Options) *Landscape { return landscape(sandbox.Share(options)) }

func landscape(shared *sandbox.Shared) *Landscape {
	return &Landscape{Shared: shared, clusters: map[string]*Cluster{}}
}

// Main runs a package's tests, with Gomega's patience that of slow machines.
func (l *Landscape) Main(m interface{ Run() int }) int {
	ctrl.SetLogger(logr.Discard())
	gomega.SetDefaultEventuallyTimeout(Patience)
	gomega.SetDefaultEventuallyPollingInterval(lookAgain)
	gomega.SetDefaultConsistentlyPollingInterval(2 * lookAgain)
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		panic(err)
	}
	return l.Shared.Main(m)
}

// Seed is the seed, in which Trellis' CRDs are installed.
func (l *Landscape) Seed(tb testing.TB) *Cluster {
	tb.Helper()
	return l.cluster(tb, l.Get(tb).Seed.Kubeconfig, func(c *Cluster) error { return install.CRDs(context.Background(), c) })
}

// Shoot is the first of the shoots.
func (l *Landscape) Shoot(tb testing.TB) *Cluster {
	tb.Helper()
	return l.cluster(tb, l.Get(tb).Shoots[0].Kubeconfig, func(*Cluster) error { return nil })
}

// cluster connects to a cluster when the first test asks for it, and prepares it.
func (l *Landscape) cluster(tb testing.TB, kubeconfig string, prepare func(*Cluster) error) *Cluster {
	tb.Helper()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if c, connected := l.clusters[kubeconfig]; connected {
		return c
	}
	c, err := Connect(kubeconfig)
	if err == nil {
		err = prepare(c)
	}
	if err != nil {
		tb.Fatal(err)
	}
	l.clusters[kubeconfig] = c
	return c
}
