// SPDX-License-Identifier: Apache-2.0

// Package robustness disturbs the operator and compares the result with an undisturbed run. The
// operator's process dies before or after any write. Reads return older data. Events are late,
// lost, repeated or out of order. API servers reject requests, or answer too late.
//
// One API server is both seed and shoot, and each run has a control-plane namespace of its own.
// The controllers are those of the operator, with the same options. A transport between them
// and the API server records their writes and adds the disturbances.
//
// The tests do not depend on how the controllers work. They check what the controllers may
// write, in which order, and the objects at the end.
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
	// patience is the time that a step may take on a busy machine.
	patience = 3 * time.Minute
	// parallelRuns is the number of runs at the same time. They mostly wait.
	parallelRuns = "16"
)

// all runs every combination, and not only those for which an ordinary run has time.
var all = flag.Bool("robustness.all", false, "run every combination of disturbances (minutes)")

// stuckAfter is the time without writes after which a run that has not ended has failed.
var stuckAfter = flag.Duration("robustness.stuck-after", time.Minute, "fail a run that has not ended after this time without writes")

// ran counts the scenarios, kills and faults.
var ran struct{ scenarios, kills, faults atomic.Int32 }

var landscape = sandbox.Share(sandbox.Options{})

func TestMain(m *testing.M) {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(parallelRuns)
	}
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	status := landscape.Main(m)
	fmt.Printf("robustness: %d scenarios, %d kill points, %d faults\n", ran.scenarios.Load(), ran.kills.Load(), ran.faults.Load())
	os.Exit(status)
}

// api is the API server, with the client of users and Gardener.
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
	for _, name := range []string{system, project} {
		err := c.Create(context.Background(), &corev1.Namespace{ObjectMeta: meta("", name)})
		if client.IgnoreAlreadyExists(err) != nil {
			return nil, err
		}
	}
	return &api{config, raw, client.WithFieldOwner(c, userManager)}, nil
})

// kubeconfigOf is an environment variable with the kubeconfig of a running API server. If it is
// set, the tests start no API server. TestPlantedBugsAreFound sets it for the tests with a bug.
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

// server returns the API server, and starts it on the first call.
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
