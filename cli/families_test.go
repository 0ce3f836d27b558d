// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

func families(list string) (all []extensionsv1alpha1.IPFamily) {
	for _, family := range strings.Fields(list) {
		all = append(all, extensionsv1alpha1.IPFamily(family))
	}
	return all
}

// migrating is a Network with its Shoot. Each of the arguments is a list of IP families, but for
// the status of the constraint that delays the second; an empty one is absent.
type migrating struct{ wanted, deployed, constraint, applied string }

func (m migrating) objects(t *testing.T, p *pipeline.Pipeline) (*extensionsv1alpha1.Network, *corev1beta1.Shoot, *state.State) {
	t.Helper()
	g := NewWithT(t)
	n := &extensionsv1alpha1.Network{
		TypeMeta:   metav1.TypeMeta{APIVersion: extensionsv1alpha1.GroupVersion.String(), Kind: "Network"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--dev--mine", Name: "mine", Generation: 3},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type: "calico", PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
	shoot := &corev1beta1.Shoot{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1beta1.GroupVersion.String(), Kind: "Shoot"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-dev", Name: "mine"},
	}
	shoot.Spec.Provider = corev1beta1.Provider{Type: "aws", Workers: []corev1beta1.Worker{{Name: "a", Maximum: 3}}}
	shoot.Spec.Kubernetes.Version = "1.36.3"
	shoot.Status.Networking = &corev1beta1.NetworkingStatus{Pods: []string{"10.1.0.0/16", "2001:db8:1::/56"}}
	kept := &state.State{}
	if m.applied != "" {
		n.Spec.IPFamilies = families(m.applied)
		built := p.Build(p.NewRequest(n, shoot, plugin.Environment{}))
		g.Expect(built.Errors).To(BeEmpty())
		kept.Applied = built.Applied()
		raw, err := json.Marshal(kept)
		g.Expect(err).NotTo(HaveOccurred())
		n.Status.State = &kruntime.RawExtension{Raw: raw}
	}
	n.Spec.IPFamilies, n.Status.IPFamilies = families(m.wanted), families(m.deployed)
	if m.constraint != "" {
		shoot.Status.Constraints = []corev1beta1.Condition{{Type: pipeline.DualStackReady, Status: corev1beta1.ConditionStatus(m.constraint)}}
	}
	return n, shoot, kept
}

// The families that are deployed decide whether nodes that are not ready delay the second one,
// for the command line as for the operator.
func TestTheCommandLineDeploysTheFamiliesThatTheOperatorDeploys(t *testing.T) {
	p, err := pipeline.New(plugins.All(), providers.All())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	seen := map[int]bool{}
	for _, wanted := range []string{"", "IPv4", "IPv4 IPv6"} {
		for _, deployed := range []string{"", "IPv4", "IPv6", "IPv4 IPv6", "IPv6 IPv4"} {
			for _, constraint := range []string{"", "True", "False", "Progressing"} {
				for _, applied := range []string{"", "IPv4", "IPv4 IPv6"} {
					m := migrating{wanted, deployed, constraint, applied}
					g := NewWithT(t)
					n, shoot, kept := m.objects(t, p)
					known := request.Network{Network: n, Cluster: &extensionsv1alpha1.Cluster{}, Shoot: shoot, State: kept}
					operators, err := known.Request(t.Context(), nil, p, plugin.Environment{})
					g.Expect(err).NotTo(HaveOccurred())
					want := p.Build(operators)

					network, err := json.Marshal(n)
					g.Expect(err).NotTo(HaveOccurred())
					described, err := json.Marshal(shoot)
					g.Expect(err).NotTo(HaveOccurred())
					printed, _ := program(t, string(network)+string(described), "request", "-f", "-")
					var file request.File
					g.Expect(json.Unmarshal([]byte(printed), &file)).To(Succeed())
					got := p.Build(file.Request)
					g.Expect(got.IPFamilies).To(Equal(want.IPFamilies), "%+v", m)
					g.Expect(got.Errors).To(Equal(want.Errors), "%+v", m)
					seen[len(want.IPFamilies)] = true
				}
			}
		}
	}
	NewWithT(t).Expect(seen).To(HaveLen(2), "one family and two")
}

// A Shoot does not state which families its network has.
func TestFamiliesThatTheInputDoesNotStateAreWarnedOf(t *testing.T) {
	const both = ", ipFamilies: [IPv4, IPv6]"
	notReady := strings.TrimSuffix(ciliumShoot(both, ""), "}\n") + ", constraints: [{type: DualStackNodesMigrationReady, status: 'False'}]}\n"
	alone := strings.Replace(network("net", "ns", "{}"), "type: noop", "type: calico\n  ipFamilies: [IPv4, IPv6]", 1)
	for name, test := range map[string]struct{ input, warning string }{
		"a Shoot whose nodes are not ready": {notReady,
			"warning: spec.networking.ipFamilies: only IPv4 is assumed, since the nodes are not ready for IPv6; if the network has both, the operator keeps them: add the Network with its status\n"},
		"a Shoot whose nodes are ready": {ciliumShoot(both, ""), ""},
		"a Network without its Shoot": {alone + "status: {ipFamilies: [IPv4]}\n",
			"warning: status.ipFamilies: is [IPv4], and [IPv4 IPv6] is assumed; the operator adds IPv6 once the nodes are ready: add the Shoot, whose constraint DualStackNodesMigrationReady states that\n"},
		"a Network with both":             {alone + "status: {ipFamilies: [IPv4, IPv6]}\n", ""},
		"a Network that is not deployed":  {alone, ""},
		"a status of nothing that exists": {alone + "status: {ipFamilies: {a: b}, lastOperation: 7, observedGeneration: x}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			exit := cli.Run([]string{"validate", "-f", "-"}, cli.Streams{In: strings.NewReader(test.input), Out: &out, Err: &out}, plugins.All(), providers.All())
			g := NewWithT(t)
			g.Expect(exit).To(Equal(cli.ExitOK), out.String())
			if test.warning == "" {
				g.Expect(out.String()).NotTo(Or(ContainSubstring("status.ipFamilies"), ContainSubstring("networking.ipFamilies")))
				return
			}
			g.Expect(out.String()).To(ContainSubstring(test.warning))
		})
	}
}

// A family that the spec wants and that is not deployed yet is to come.
func TestAPlanShowsTheFamilyThatIsToCome(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	both := ciliumShoot(", ipFamilies: [IPv4, IPv6]", "")
	status := strings.NewReplacer("noop", "cilium\n  ipFamilies: [IPv4, IPv6]", "10.1.0.0/16", "100.96.0.0/11", "10.2.0.0/16", "100.64.0.0/13").
		Replace(network("mine", "shoot--dev--mine", "{}")) + "status: {ipFamilies: [IPv4]}\n"
	for file, text := range fromTo(both+"---\n"+status, both) {
		g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	}
	exit, stdout := planOfAll("old.yaml", "new.yaml")
	g.Expect(exit).To(Equal(cli.ExitChanges), stdout)
	g.Expect(stdout).To(ContainSubstring("change: ipv6.enabled: rolling, from false to true: "))
}
