// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel"
	"github.com/trellis-network/trellis/test/built"
	"github.com/trellis-network/trellis/test/harness"
)

// tokenPath is where a pod finds the token of its service account.
const tokenPath = "/run/secrets/kubernetes.io/serviceaccount"

var networks = built.By[*built.Network]{New: flannel.New, As: func(n *built.Network) *built.Network { return n }}

// cluster has two nodes, and an API server that has Node objects for them.
type cluster struct {
	t      *testing.T
	server *harness.Cluster
	// port is that of the API server, at 127.0.0.1 on every node.
	port     string
	families []extensionsv1alpha1.IPFamily
	// outside is the network between the nodes, with an address of its own.
	outside *namespaces
	a, b    *node
	daemon  *appsv1.DaemonSet
}

// underlay is how the two nodes are joined.
type underlay struct {
	// bridge joins the nodes to one segment. Without it the gateway is a router, and each
	// node is in a subnet of its own.
	bridge bool
}

// segment is the number of a node's subnet.
func (u underlay) segment(node int) int {
	if u.bridge {
		return 1
	}
	return node
}

var (
	oneSegment = underlay{bridge: true}
	twoSubnets = underlay{}
)

// address returns a node's address and that of its gateway, with the length of the prefix.
func (u underlay) address(node int, family extensionsv1alpha1.IPFamily) (own, gateway, bits string) {
	subnet := u.segment(node)
	if family == extensionsv1alpha1.IPv6 {
		return fmt.Sprintf("fd00:250:%d::1%d", subnet, node), fmt.Sprintf("fd00:250:%d::1", subnet), "/64"
	}
	return fmt.Sprintf("10.250.%d.1%d", subnet, node), fmt.Sprintf("10.250.%d.1", subnet), "/24"
}

// podRange is the range of a node's pods.
func podRange(node int, family extensionsv1alpha1.IPFamily) string {
	if family == extensionsv1alpha1.IPv6 {
		return fmt.Sprintf("2001:db8:1:%d::/64", node) // of built.PodCIDR6
	}
	return fmt.Sprintf("100.64.%d.0/24", node) // of built.PodCIDR
}

// newCluster makes a cluster in which flannel runs as Trellis renders it for a config. Its nodes
// are ready for pods.
func newCluster(t *testing.T, config string, families []extensionsv1alpha1.IPFamily, under underlay) *cluster {
	t.Helper()
	c := newNodes(t, families, under)
	settings := c.render(config)
	for _, n := range c.nodes() {
		n.configure(settings)
		n.install(c.daemon)
		n.start(c.daemon)
	}
	for _, n := range c.nodes() {
		n.awaitReady(c.daemon)
	}
	return c
}

// newNodes makes a cluster without a pod network.
func newNodes(t *testing.T, families []extensionsv1alpha1.IPFamily, under underlay) *cluster {
	t.Helper()
	needNodes(t)
	seed := landscape.Get(t).Seed
	server, err := harness.Connect(seed.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	server.AuditLog = seed.AuditLog
	address, err := url.Parse(server.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, server: server, port: address.Port(), families: families}
	c.outside = newNamespaces(t, "mount -t proc proc /proc; mount -t sysfs sysfs /sys; set -- /; ip link set lo up")
	c.a, c.b = newNode(t, "a"), newNode(t, "b")
	c.connect(under)
	c.register()
	for _, n := range c.nodes() {
		c.give(n)
	}
	return c
}

func (c *cluster) nodes() []*node { return []*node{c.a, c.b} }

// connect gives the nodes interfaces eth0, addresses and default routes.
func (c *cluster) connect(under underlay) {
	c.t.Helper()
	c.outside.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
	if under.bridge {
		c.outside.ip("link add bridge type bridge\nlink set bridge up")
	}
	for i, n := range c.nodes() {
		link := "to-" + n.name
		c.outside.link("add", link, "type", "veth", "peer", "name", "eth0", "netns", n.pid)
		gatewayLink := link
		if under.bridge {
			gatewayLink = "bridge"
			c.outside.ip("link set " + link + " master bridge")
		}
		c.outside.ip("link set " + link + " up")
		n.ip("link set eth0 up")
		n.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
		for _, family := range c.families {
			own, gateway, bits := under.address(i+1, family)
			nodad := map[bool]string{true: " nodad"}[family == extensionsv1alpha1.IPv6]
			c.outside.ip("address replace " + gateway + bits + " dev " + gatewayLink + nodad)
			n.ip("address add " + own + bits + " dev eth0" + nodad + "\nroute add default via " + gateway)
		}
	}
}

// register makes Node objects, and pods of flannel's daemon for them, as a DaemonSet would.
func (c *cluster) register() {
	c.t.Helper()
	c.daemonSet("")
	for i, n := range c.nodes() {
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, Annotations: map[string]string{
			"volumes.kubernetes.io/controller-managed-attach-detach": "true", // as from every kubelet; flannel fails without annotations
		}}}
		for _, family := range c.families {
			object.Spec.PodCIDRs = append(object.Spec.PodCIDRs, podRange(i+1, family))
		}
		object.Spec.PodCIDR = object.Spec.PodCIDRs[0]
		c.create(object)
		template := c.daemon.Spec.Template.DeepCopy()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: n.pod, Namespace: c.daemon.Namespace}, Spec: template.Spec}
		pod.Spec.NodeName = n.name
		c.create(pod)
	}
}

// create creates an object for the time of the test.
func (c *cluster) create(object client.Object) {
	c.t.Helper()
	if err := c.server.Create(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := c.server.Delete(context.Background(), object, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			c.t.Error(err)
		}
	})
}

// give gives a node what the pod of the daemon has there: a token, and an address at which the
// API server answers.
func (c *cluster) give(n *node) {
	c.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "flannel", Namespace: metav1.NamespaceSystem}}
	token := &authenticationv1.TokenRequest{}
	if err := c.server.SubResource("token").Create(c.t.Context(), account, token); err != nil {
		c.t.Fatal(err)
	}
	n.write(tokenPath+"/token", token.Status.Token)
	n.write(tokenPath+"/ca.crt", string(c.server.Config.CAData))
	var listener net.Listener
	if err := n.network().within(func() (err error) {
		listener, err = net.Listen("tcp", "127.0.0.1:"+c.port)
		return err
	}); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = listener.Close() })
	go forward(listener, "127.0.0.1:"+c.port)
}

// forward connects the clients of a listener with an address of this machine, until the listener is
// closed.
func forward(listener net.Listener, to string) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			there, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer there.Close()
			go func() {
				_, _ = io.Copy(there, from)
				_ = there.Close()
			}()
			_, _ = io.Copy(from, there)
		}()
	}
}

// render renders the network, and brings its rights into the API server. It returns what the
// daemon reads.
func (c *cluster) render(config string) *corev1.ConfigMap {
	c.t.Helper()
	return built.Need[*corev1.ConfigMap](c.daemonSet(config), "kube-flannel-cfg")
}

func (c *cluster) daemonSet(config string) *built.Network {
	c.t.Helper()
	network := networks.Build(c.t, config, built.Families(c.families...), func(in *plugin.Input) {
		in.PodAccess = &plugin.PodAccess{Host: "127.0.0.1", Port: c.port}
	})
	for _, object := range []client.Object{
		built.Need[*corev1.ServiceAccount](network, "flannel"),
		built.Need[*rbacv1.ClusterRole](network, "flannel"),
		built.Need[*rbacv1.ClusterRoleBinding](network, "flannel"),
	} {
		if err := c.server.Create(c.t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			c.t.Fatal(err)
		}
	}
	c.daemon = built.Need[*appsv1.DaemonSet](network, "kube-flannel-ds")
	return network
}

// change rolls another config out, one node after the other.
func (c *cluster) change(config string) {
	c.t.Helper()
	settings := c.render(config)
	for _, n := range c.nodes() {
		if status := n.signal("TERM"); status != 0 {
			c.t.Errorf("flannel's daemon on %s ended with status %d after SIGTERM", n.name, status)
		}
		n.configure(settings)
		n.install(c.daemon)
		n.start(c.daemon)
		n.awaitReady(c.daemon)
	}
}
