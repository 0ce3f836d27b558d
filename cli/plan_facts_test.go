// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// ciliumShoot is one whose status tells what a running cluster has.
func ciliumShoot(networking, kubernetes string) string {
	return strings.Replace(calicoShoot("{}", networking, kubernetes), "type: calico", "type: cilium", 1) +
		"status: {advertisedAddresses: [{name: external, url: 'https://api.example.com'}], networking: {pods: [100.96.0.0/11, '2001:db8:1::/56']}}\n"
}

// What changes with the Shoot, and with no value of the providerConfig, is as grave as
// it is.
func TestAPlanSaysHowGraveAChangeOfTheShootIs(t *testing.T) {
	const both = ", ipFamilies: [IPv4, IPv6]"
	t.Chdir(t.TempDir())
	for name, test := range map[string]struct {
		old, next string
		exit      int
		says      []string
	}{
		"kube-proxy goes": {ciliumShoot("", ""), ciliumShoot("", withoutKubeProxy), cli.ExitDisruptive,
			[]string{"change: spec.kubernetes.kubeProxy.enabled: disruptive, from true to false: Cilium takes Services over"}},
		"kube-proxy comes": {ciliumShoot("", withoutKubeProxy), ciliumShoot("", ""), cli.ExitDisruptive,
			[]string{"change: spec.kubernetes.kubeProxy.enabled: disruptive, from false to true: kube-proxy takes Services over"}},
		"its mode": {calicoShoot("{}", "", ""), calicoShoot("{}", "", ", kubeProxy: {mode: NFTables}"), cli.ExitDisruptive,
			[]string{"change: spec.kubernetes.kubeProxy.mode: disruptive, from absent to NFTables: "}},
		"its mode, where it does not matter": {calicoShoot("{}", "", ""), calicoShoot("{}", "", ", kubeProxy: {mode: IPVS}"), cli.ExitOK, nil},
		"nodes get ranges of another length": {calicoShoot("{}", "", ""), calicoShoot("{}", "", ", kubeControllerManager: {nodeCIDRMaskSize: 26}"), cli.ExitInvalid,
			[]string{"error: new.yaml: spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize: Forbidden: cannot change from 24 to 26 in a running network: ",
				"refused (1 error): keep spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize: 24, or create a new cluster"}},
		"a family comes": {ciliumShoot("", ""), ciliumShoot(both, ""), cli.ExitChanges,
			[]string{"change: ipv6.enabled: rolling, from false to true: "}},
		"a family goes": {ciliumShoot(both, ""), ciliumShoot(", ipFamilies: [IPv4]", ""), cli.ExitDisruptive,
			[]string{"change: ipv6.enabled: disruptive, from true to false: "}},
		"the other family goes": {ciliumShoot(both, ""), ciliumShoot(", ipFamilies: [IPv6], pods: '2001:db8:1::/56', services: '2001:db8:2::/112'", ""), cli.ExitInvalid,
			[]string{"error: new.yaml: spec.networking.ipFamilies: Forbidden: cannot change from [IPv4 IPv6] to [IPv6] in a running network: IPv6 may join IPv4"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for file, text := range fromTo(test.old, test.next) {
				g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
			}
			exit, stdout := planOfAll("old.yaml", "new.yaml")
			g.Expect(exit).To(Equal(test.exit), stdout)
			for _, part := range test.says {
				g.Expect(stdout).To(ContainSubstring(part))
			}
		})
	}
}

// What the status of a cluster tells must be there once there is a cluster.
func TestOnlyWhatIsPlannedMayLackWhatAStatusTells(t *testing.T) {
	g := NewWithT(t)
	planned := strings.Replace(calicoShoot("{}", "", withoutKubeProxy), "type: calico", "type: cilium", 1)
	validate := func(text string) (int, string) {
		var out strings.Builder
		exit := cli.Run([]string{"validate", "-f", "-"}, cli.Streams{In: strings.NewReader(text), Out: &out, Err: &out}, plugins.All(), providers.All())
		return exit, out.String()
	}
	exit, stdout := validate(planned)
	g.Expect(exit).To(Equal(cli.ExitOK), stdout)
	for _, there := range []string{"uid: 7a", "creationTimestamp: 2026-01-02T03:04:05Z"} {
		exit, stdout = validate(strings.Replace(planned, "{name: mine,", "{name: mine, "+there+",", 1))
		g.Expect(exit).To(Equal(cli.ExitInvalid), stdout)
		g.Expect(stdout).To(ContainSubstring("error: status.advertisedAddresses: Required value"))
	}
}
