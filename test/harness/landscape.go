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
	// Patience is the time that a condition may take on a slow machine. Tests on a fast
	// machine do not take longer because of it.
	Patience = 2 * time.Minute
	// interval is the time between two checks of a condition. Each check is a request, and
	// most checks find no change.
	interval = 50 * time.Millisecond
	// parallel is the number of tests of a package that run at once. They mostly wait.
	parallel = "8"
)

// Landscape has the clusters of a package's tests.
type Landscape struct {
	*sandbox.Shared

	mutex    sync.Mutex
	clusters map[string]*Cluster // by the path of their kubeconfigs
}

// Seed is a seed for packages that need no shoot. All packages of a run share one.
func Seed() *Landscape { return landscape(sandbox.ShareWithRun(sandbox.Options{})) }

// SeedAndShoot is a seed and a shoot with two nodes. All packages of a run share both.
func SeedAndShoot() *Landscape { return landscape(sandbox.ShareWithRun(sandbox.OfRun)) }

// Own is a sandbox for one package alone. The map own, in the test of this package, has the
// packages that need one, and why.
func Own(options sandbox.Options) *Landscape { return landscape(sandbox.Share(options)) }

func landscape(shared *sandbox.Shared) *Landscape {
	return &Landscape{Shared: shared, clusters: map[string]*Cluster{}}
}

// Main runs a package's tests. It sets Gomega's timeouts for slow machines.
func (l *Landscape) Main(m interface{ Run() int }) int {
	ctrl.SetLogger(logr.Discard())
	gomega.SetDefaultEventuallyTimeout(Patience)
	gomega.SetDefaultEventuallyPollingInterval(interval)
	gomega.SetDefaultConsistentlyPollingInterval(2 * interval)
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	return l.Shared.Main(m)
}

// Seed returns the seed, with Trellis' CRDs installed.
func (l *Landscape) Seed(tb testing.TB) *Cluster {
	tb.Helper()
	seed := l.Get(tb).Seed
	return l.cluster(tb, seed.Kubeconfig, seed.AuditLog, func(c *Cluster) error { return install.CRDs(context.Background(), c) })
}

// Shoot returns the first of the shoots.
func (l *Landscape) Shoot(tb testing.TB) *Cluster {
	tb.Helper()
	return l.Shoots(tb)[0]
}

// Shoots returns all shoots.
func (l *Landscape) Shoots(tb testing.TB) (all []*Cluster) {
	tb.Helper()
	for _, shoot := range l.Get(tb).Shoots {
		all = append(all, l.cluster(tb, shoot.Kubeconfig, shoot.AuditLog, func(*Cluster) error { return nil }))
	}
	return all
}

// cluster returns a cluster. On the first call it connects to the cluster and prepares it.
func (l *Landscape) cluster(tb testing.TB, kubeconfig, auditLog string, prepare func(*Cluster) error) *Cluster {
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
	c.AuditLog = auditLog
	l.clusters[kubeconfig] = c
	return c
}
