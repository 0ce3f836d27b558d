// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/test/harness"
)

// The daemons use each of their rights, and one less widely than flannel's own ClusterRole gives it: each
// reads its pod, in the namespace of the daemons.
func TestRightsOfTheDaemon(t *testing.T) {
	g := NewWithT(t)
	c := newNodes(t, ipv4, oneSegment)
	const account = "system:serviceaccount:kube-system:flannel"
	usage := c.server.NewUsage(t, account, metav1.NamespaceSystem)
	settings := c.render("")
	for _, n := range c.nodes() {
		n.configure(settings)
		n.install(c.daemon)
		n.start(c.daemon)
	}
	for _, n := range c.nodes() {
		n.awaitReady(c.daemon)
	}
	granted := c.server.Rights(t, account, metav1.NamespaceSystem)
	g.Expect(granted).NotTo(BeEmpty())
	g.Eventually(func() []string { return usage.Unused(granted) }, patience).Should(Equal([]string{"get pods in the whole cluster"}), "granted and never used")
	inItsNamespace := harness.Right{Verb: "get", Resource: "pods", Own: true}
	g.Expect(usage.Unused(sets.New(inItsNamespace))).To(BeEmpty())
	g.Expect(usage.Refused()).To(BeEmpty())
}
