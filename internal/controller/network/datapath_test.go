// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
)

func dataPathOf(n *extensionsv1alpha1.Network) string {
	var shown extensionsv1alpha1.NetworkDataPath
	if n.Status.ProviderStatus == nil || json.Unmarshal(n.Status.ProviderStatus.Raw, &shown) != nil {
		return ""
	}
	return shown.DataPath
}

// The status has, in the write that reports the success, how packets travel; and nothing of it
// where the plugin does not say.
func TestTheStatusTellsHowPacketsTravel(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked, withConfig(`{"backend":"tunnel"}`))
		e.Expect(dataPathOf(n)).To(Equal("through a tunnel; routes by the agents"))
		e.Expect(len(e.requests.Writes())).To(BeNumerically("<=", 5), "no request more than without it")
		e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"overlay"}`)(n); asked(n) })
		e.Eventually(e.written).Should(Equal("overlay"))
		e.Expect(dataPathOf(n)).NotTo(BeEmpty(), "it is what is in force")
		e.applied()
		e.Eventually(func() string { e.get(n); return string(n.Status.ProviderStatus.Raw) }).Should(And(
			ContainSubstring("overlay"), Not(ContainSubstring("dataPath"))))
	})
}

// A new release writes no status only to state the line. It comes with the next success.
func TestTheStatusOfAnOlderReleaseLearnsHowPacketsTravel(t *testing.T) {
	e := setup(t)
	n := e.finished(withConfig(`{"backend":"tunnel"}`))
	e.stop()
	harness.ChangeStatus(t, e.client, n, func(n *extensionsv1alpha1.Network) {
		n.Status.ProviderStatus.Raw = []byte(`{"apiVersion":"example.trellis.network/v1","kind":"NetworkStatus","config":{"backend":"tunnel","clusterCIDR":"10.1.0.0/16","serviceCIDR":"10.2.0.0/16"}}`)
	})
	e.requests.Forget()
	e.stop = e.start()
	e.stays(n)
	e.Expect(e.requests.Writes()).To(BeEmpty())
	e.patch(n, withConfig(`{"backend":"tunnel","extras":"one"}`))
	e.Eventually(e.names).Should(ContainElement(laterName))
	e.applied()
	e.Eventually(func() string { e.get(n); return dataPathOf(n) }).Should(Equal("through a tunnel; routes by the agents"))
}
