// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

// The tests share three API servers: a shoot's, that of a seed with Trellis' CRDs,
// and, in the part of a second seed, that of another shoot, with the schemas of a
// Gardener landscape.
var landscape = harness.Own(sandbox.Options{Shoots: []string{"garden-dev/shoot", "garden-dev/another-seed"}, Nodes: 1})

func TestMain(m *testing.M) {
	if os.Getenv(asOperator) != "" {
		if err := runOperator(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(landscape.Main(m))
}

// cluster is an API server.
type cluster struct {
	schemas    string
	kubeconfig string
	client     *harness.Cluster
}

var prepare sync.Once

// clusters are the seed with Trellis' CRDs, that with Gardener's, and the shoot.
func clusters(t *testing.T) (trellis, gardener, shoot *cluster) {
	t.Helper()
	g := NewWithT(t)
	box := landscape.Get(t)
	shoot = connect(g, box.Shoots[0].Kubeconfig, "")
	trellis, gardener = connect(g, box.Seed.Kubeconfig, "Trellis"), connect(g, box.Shoots[1].Kubeconfig, "Gardener")
	prepare.Do(func() {
		g.Expect(install.CRDs(t.Context(), trellis.client)).To(Succeed())
		g.Expect(install.Policies(t.Context(), trellis.client)).To(Succeed())
		g.Expect(install.Gardener(t.Context(), gardener.client)).To(Succeed())
		for _, each := range []*cluster{trellis, gardener} {
			protected(g, each.client)
		}
	})
	return trellis, gardener, shoot
}

func connect(g *WithT, kubeconfig, schemas string) *cluster {
	c, err := harness.Connect(kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	return &cluster{schemas: schemas, kubeconfig: kubeconfig, client: c}
}

// protected waits until a seed's API server acts by the policies, the last of which
// were installed just now.
func protected(g *WithT, c client.Client) {
	ctx := context.Background()
	n := plainNetwork("default", "protected")
	n.Annotations = map[string]string{extensionsv1alpha1.ConfirmationAnnotation: "no"}
	g.Expect(c.Create(ctx, n)).To(Succeed())
	g.Eventually(func() error { return c.Delete(ctx, n, client.DryRunAll) }).Should(Satisfy(apierrors.IsForbidden))
	g.Eventually(func() error {
		changed := n.DeepCopy()
		changed.Spec.PodCIDR = "10.9.0.0/16"
		return c.Update(ctx, changed, client.DryRunAll)
	}).Should(HaveOccurred())
	n.Annotations[extensionsv1alpha1.ConfirmationAnnotation] = "true"
	g.Expect(c.Update(ctx, n)).To(Succeed())
	g.Expect(c.Delete(ctx, n)).To(Succeed())
}

func plainNetwork(namespace, name string) *extensionsv1alpha1.Network {
	return &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type:    "example",
			PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
}

var controlPlanes atomic.Int32

// newNamespace is the name of a control plane that no test had before.
func newNamespace() string { return fmt.Sprintf("shoot--test--%d", controlPlanes.Add(1)) }

// inBothSchemas runs a test in a seed with Trellis' CRDs and in one with Gardener's.
// The other seed is the one to migrate to.
func inBothSchemas(t *testing.T, test func(t *testing.T, here, there, shoot *cluster)) {
	trellis, gardener, shoot := clusters(t)
	for _, way := range [][2]*cluster{{trellis, gardener}, {gardener, trellis}} {
		t.Run(way[0].schemas, func(t *testing.T) { test(t, way[0], way[1], shoot) })
	}
}
