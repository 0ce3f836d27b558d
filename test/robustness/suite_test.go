// SPDX-License-Identifier: Apache-2.0

// Package robustness disturbs the operator in every way that the world does, and
// compares the result with a run that was not disturbed: its process dies
// after any write, or with it; reads come from an earlier moment; events are late,
// lost, repeated or out of order; and API servers refuse, or answer too late.
//
// One API server plays seed and shoot, and each run has a control-plane namespace
// of its own. The controllers are those of the operator, wired as it wires them;
// between them and the API server is a transport that records what they write and
// does the disturbing.
//
// It refuses to know how the controllers work: it knows what they may write, in
// which order, and what has to be there in the end.
package robustness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	// userManager is the field manager of the users in the tests.
	userManager = "user"
	// patience is how long anything may take on a busy machine.
	patience = 3 * time.Minute
	// sideBySide is how many runs there are at the same time. They mostly wait.
	sideBySide = "16"
)

// all reports whether every combination is run, rather than those that the time of
// an ordinary run is enough for.
var all = flag.Bool("robustness.all", false, "run every combination of disturbances (minutes)")

// stuckAfter is how long nothing may be written by a run that has not come to its
// end.
var stuckAfter = flag.Duration("robustness.stuck-after", time.Minute, "how long a run may do nothing before its end")

// ran counts what was run.
var ran struct{ scenarios, kills, faults atomic.Int32 }

var landscape = sandbox.Share(sandbox.Options{})

func TestMain(m *testing.M) {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(sideBySide)
	}
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	status := landscape.Main(m)
	fmt.Printf("robustness: %d scenarios, %d kill points, %d faults\n", ran.scenarios.Load(), ran.kills.Load(), ran.faults.Load())
	os.Exit(status)
}

// api is the one API server, as users and Gardener see it.
type api struct {
	config     *rest.Config
	kubeconfig []byte
	client     client.Client
}

var theAPI = sync.OnceValues(func() (*api, error) {
	path, err := kubeconfigPath()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	c, err := client.New(config, client.Options{Scheme: seedclient.Scheme()})
	if err != nil {
		return nil, err
	}
	if err := install.CRDs(context.Background(), c); err != nil {
		return nil, err
	}
	err = c.Create(context.Background(), &corev1.Namespace{ObjectMeta: meta("", system)})
	return &api{config, raw, client.WithFieldOwner(c, userManager)}, client.IgnoreAlreadyExists(err)
})

// kubeconfigOf, in the environment, is the kubeconfig of an API server that is
// used instead of starting one: that of the harness which looks for planted bugs.
const kubeconfigOf = "TRELLIS_ROBUSTNESS_KUBECONFIG"

var started struct {
	sync.Mutex
	path string
}

func kubeconfigPath() (string, error) {
	if path := os.Getenv(kubeconfigOf); path != "" {
		return path, nil
	}
	started.Lock()
	defer started.Unlock()
	return started.path, nil
}

// server is the API server, started if need be.
func server(t *testing.T) *api {
	t.Helper()
	if os.Getenv(kubeconfigOf) == "" {
		path := landscape.Get(t).Seed.Kubeconfig
		started.Lock()
		started.path = path
		started.Unlock()
	}
	a, err := theAPI()
	if err != nil {
		t.Fatal(err)
	}
	return a
}
