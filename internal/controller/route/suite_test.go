// SPDX-License-Identifier: Apache-2.0

package route_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/controller/route"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/providers/routes"
	"github.com/trellis-network/trellis/test/harness"
)

// Each test has a control-plane namespace, a cloud, and a controller of its own. The seed is the shoot,
// too: the sandbox's shoots have simulated kubelets, which say that there are routes. The nodes are those
// of all tests, so each test has a range of its own for the pods, and the nodes of others are problems that
// it does not look at.
var landscape = harness.Seed()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// cloud is an infrastructure in memory.
type cloud struct {
	mutex    sync.Mutex
	tables   []string
	quota    int
	routes   map[routes.Route]bool // whether they are owned
	machines map[string]bool       // whether they forward
	// fault is the error of all requests that change something, and unlisted of all that read.
	fault, unlisted error
	opened          []routes.Cluster
	listed          int
}

func (c *cloud) Type() string { return "example" }

func (c *cloud) Open(cluster routes.Cluster) (routes.Tables, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.opened = append(c.opened, cluster)
	return c, nil
}

func (c *cloud) Machine(providerID string) string {
	machine, _ := strings.CutPrefix(providerID, "example://")
	return machine
}

func (c *cloud) Limit() int { return c.quota }

func (c *cloud) List(context.Context) (*routes.Listing, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.listed++
	listing := &routes.Listing{Machines: map[string]routes.Machine{}}
	for machine, forwards := range c.machines {
		listing.Machines[machine] = routes.Machine{Forwards: forwards}
	}
	for _, id := range c.tables {
		table := routes.Table{ID: id}
		for each, owned := range c.routes {
			if each.Table == id {
				each.Owned, each.Target = owned, each.Machine
				table.Routes = append(table.Routes, each)
				table.IPv4++
			}
		}
		listing.Tables = append(listing.Tables, table)
	}
	return listing, c.unlisted
}

func (c *cloud) Make(_ context.Context, wanted []routes.Route) []error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	errs := make([]error, len(wanted))
	for i, each := range wanted {
		used := 0
		for there := range c.routes {
			if there.Table == each.Table {
				used++
			}
		}
		if errs[i] = c.fault; errs[i] == nil && used >= c.quota {
			errs[i] = fmt.Errorf("make the route to %s: %w", each.Destination, routes.ErrLimitReached)
		}
		if errs[i] == nil {
			c.remove(each)
			c.routes[each] = true
		}
	}
	return errs
}

func (c *cloud) remove(which routes.Route) {
	maps.DeleteFunc(c.routes, func(there routes.Route, owned bool) bool {
		return owned && there.Table == which.Table && there.Destination == which.Destination
	})
}

func (c *cloud) Delete(_ context.Context, owned []routes.Route) []error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	errs := make([]error, len(owned))
	for i, each := range owned {
		if errs[i] = c.fault; errs[i] == nil {
			c.remove(each)
		}
	}
	return errs
}

func (c *cloud) Forward(_ context.Context, machines []string) []error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	errs := make([]error, len(machines))
	for i, each := range machines {
		if errs[i] = c.fault; errs[i] == nil {
			c.machines[each] = true
		}
	}
	return errs
}

// change changes the cloud as its owner does.
func (c *cloud) change(how func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	how()
}

// lines returns all routes.
func (c *cloud) lines() (lines []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for each := range c.routes {
		lines = append(lines, fmt.Sprintf("%s %s %s", each.Table, each.Destination, each.Machine))
	}
	slices.Sort(lines)
	return lines
}

type env struct {
	*WithT
	t           *testing.T
	seed, shoot *harness.Cluster
	namespace   string
	requests    harness.Requests
	cloud       *cloud
	board       *route.Board
	network     *extensionsv1alpha1.Network
	// pods is the beginning of the addresses of pods: 10.7
	pods string
}

// tests counts the tests that have begun.
var tests atomic.Int32

// setup starts the controller for a Network that asks for routes.
func setup(t *testing.T) *env {
	t.Helper()
	t.Parallel()
	e := &env{WithT: NewWithT(t), t: t, seed: landscape.Seed(t), shoot: landscape.Seed(t), board: &route.Board{}, pods: fmt.Sprintf("10.%d", 100+tests.Add(1))}
	e.namespace = e.seed.Namespace(t, "shoot--routes--")
	e.cloud = &cloud{tables: []string{"t", "u"}, quota: 50, routes: map[routes.Route]bool{}, machines: map[string]bool{}}
	e.seed.PutAccess(t, e.namespace, e.shoot.Kubeconfig)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "cloudprovider"}, Data: map[string][]byte{"key": []byte("secret")}}
	e.Expect(e.seed.Create(t.Context(), secret)).To(Succeed())
	e.putShoot(func(*corev1beta1.Shoot) {})
	e.network = &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: e.namespace, Annotations: map[string]string{extensionsv1alpha1.PodRoutesAnnotation: "true"}},
		Spec:       extensionsv1alpha1.NetworkSpec{Type: "example", PodCIDR: e.pods + ".0.0/16", ServiceCIDR: "10.2.0.0/16"},
	}
	e.Expect(e.seed.Create(t.Context(), e.network)).To(Succeed())
	e.start()
	return e
}

func (e *env) putShoot(change func(*corev1beta1.Shoot)) {
	e.t.Helper()
	s := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "garden-dev"}}
	s.Spec.Region, s.Spec.Provider.Type = "eu", "example"
	change(s)
	e.seed.PutShoot(e.t, e.namespace, s)
}

func (e *env) start() (stop func()) {
	return e.seed.Run(e.t, []string{e.namespace}, &e.requests, func(mgr manager.Manager) error {
		shoots := shootclient.New(shootclient.Options{Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(), RetryAfter: time.Millisecond})
		if err := mgr.Add(shoots); err != nil {
			return err
		}
		return route.Add(mgr, route.Options{
			Infrastructures: map[string]route.Infrastructure{"example": {Provider: e.cloud}},
			Shoots:          shoots, Secrets: mgr.GetAPIReader(), Board: e.board, Clock: clock.RealClock{}, Period: 2 * time.Second, MaxConcurrentReconciles: 2,
		})
	})
}

// node creates a node with a range and a machine.
func (e *env) node(name string, third int) *corev1.Node {
	e.t.Helper()
	name = e.name(name)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Spec.ProviderID, node.Spec.PodCIDR = "example://"+name, fmt.Sprintf("%s.%d.0/24", e.pods, third)
	node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
	e.cloud.change(func() { e.cloud.machines[name] = false })
	e.Expect(e.shoot.Create(e.t.Context(), node)).To(Succeed())
	e.t.Cleanup(func() { _ = e.shoot.Delete(context.Background(), node) })
	return node
}

// name makes a name for a node that no other test has.
func (e *env) name(node string) string {
	return node + strings.TrimPrefix(e.namespace, "shoot--routes-")
}

// marked returns the node's condition NetworkUnavailable, as "False RouteCreated".
func (e *env) marked(node *corev1.Node) func() string {
	return func() string {
		e.shoot.Read(e.t, node)
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeNetworkUnavailable {
				return string(c.Status) + " " + c.Reason
			}
		}
		return ""
	}
}

// reported returns the condition that the status would have, as "True RoutesCreated: message".
func (e *env) reported() string {
	report, err := e.board.Report(context.Background(), source.Input{Network: e.network})
	e.Expect(err).NotTo(HaveOccurred())
	if len(report.Conditions) == 0 {
		return ""
	}
	c := report.Conditions[0]
	text := fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	for _, code := range c.Codes {
		text += " " + string(code)
	}
	return text
}

// route returns a route as lines has it.
func (e *env) route(table string, node *corev1.Node) string {
	return fmt.Sprintf("%s %s %s", table, node.Spec.PodCIDR, node.Name)
}

// finalizers returns those of the Network, nil if it is gone.
func (e *env) finalizers() []string {
	n := &extensionsv1alpha1.Network{}
	err := e.seed.Get(context.Background(), client.ObjectKeyFromObject(e.network), n)
	e.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return n.Finalizers
}

var errUnrelated = errors.New("the cloud is on fire")

// events returns the notes of the Network's events with a reason.
func (e *env) events(reason string) (notes []string) {
	list := &eventsv1.EventList{}
	e.Expect(e.seed.List(context.Background(), list, client.InNamespace(e.namespace))).To(Succeed())
	for i := range list.Items {
		if list.Items[i].Reason == reason {
			notes = append(notes, list.Items[i].Note)
		}
	}
	return notes
}

func metaOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
