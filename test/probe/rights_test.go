// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/test/harness"
)

// The probes have exactly the rights that they use.
func TestRightsOfAProbe(t *testing.T) {
	g, s := newShoot(t)
	seed := landscape.Seed(t)
	usage := seed.NewUsage(t, "system:serviceaccount:"+system+":"+service, system)
	granted := seed.InstallIdentity(t, objects(t))
	g.Expect(granted).NotTo(BeEmpty())
	g.Eventually(func() sets.Set[harness.Right] {
		return seed.Rights(t, "system:serviceaccount:"+system+":"+service, system)
	}).Should(Equal(granted), "what the roles state, and no more")
	pods := map[string]string{"granted-a": "10.98.0.1", "granted-b": "10.98.0.2"}
	s.endpoints(t, pods)
	for node, address := range pods {
		s.run(t, node, address, s.node(t, node))
	}
	g.Eventually(func() []string { return usage.Unused(granted) }).Should(BeEmpty(), "granted and never used")
	g.Expect(usage.Refused()).To(BeEmpty())
}
