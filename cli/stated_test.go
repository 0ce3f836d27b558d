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

// What trellis-admission states in a Shoot belongs to what it answers, and a manifest never has it.
func TestCommandsKnowWhatTheAdmissionStates(t *testing.T) {
	t.Chdir(t.TempDir())
	const (
		planned = "{name: mine, namespace: garden-dev}"
		made    = "{name: mine, namespace: garden-dev, uid: '7'}"
		egress  = "{egressGateway: {enabled: true}, overlay: {enabled: true}}"
		states  = "trellis-admission states: "
		status  = "status: {advertisedAddresses: [{name: external, url: 'https://api.example.com'}]}\n"
	)
	cilium := func(metadata, config, kubernetes string) string {
		return strings.NewReplacer("type: calico", "type: cilium", planned, metadata).Replace(calicoShoot(config, "", kubernetes))
	}
	live := func(config, kubernetes string) string { return cilium(made, config, kubernetes) + status }
	applied := strings.Replace(made, "}", `, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"kubernetes":{"kubeProxy":{"enabled":false}}}}'}}`, 1)
	onAWS := func(metadata, config string) string {
		return strings.Replace(calicoShoot(config, "", ""), planned, metadata, 1)
	}
	workerless := func(shoot string) string { return strings.Replace(shoot, "[{name: a, maximum: 3}]", "[]", 1) }
	for _, test := range []struct {
		name, args, old, next string
		exit                  int
		says, silent          string
	}{
		{"a new Shoot", "validate new.yaml", "", cilium(planned, egress, ""), cli.ExitOK, states + `{"spec":{"kubernetes":{"kubeProxy":{"enabled":false}}}}`, "error"},
		{"a new one against its user's will", "validate new.yaml", "", cilium(planned, egress, ", kubeProxy: {enabled: true}"), cli.ExitOK, "warning: spec.kubernetes.kubeProxy.enabled: is set to false", "error"},
		{"a new one that has all", "validate new.yaml", "", cilium(planned, egress, withoutKubeProxy), cli.ExitOK, "valid (cilium", states},
		{"in a config", "validate new.yaml", "", onAWS(planned, "{typha: {enabled: false}}"), cli.ExitOK, states + `{"spec":{"networking":{"providerConfig":{"overlay":{"enabled":false}}}}}` + "\npackets: no encapsulation", "error"},
		{"a rendered one", "render -f new.yaml", "", cilium(planned, egress, ""), cli.ExitOK, states + `{"spec":{"kubernetes":{"kubeProxy":{"enabled":false}}}}`, "an egress gateway needs"},
		{"its objects", "render -f new.yaml", "", cilium(planned, "{}", ""), cli.ExitOK, `kube-proxy-replacement: "true"`, ""},
		{"its Request", "request -f new.yaml", "", cilium(planned, egress, ""), cli.ExitOK, states + `{"spec":{"kubernetes":{"kubeProxy":{"enabled":false}}}}`, `"kubeProxy": {"enabled": true`},
		{"a rendered one standalone", "render -f new.yaml --mode standalone", "", cilium(planned, egress, ""), cli.ExitInvalid, "an egress gateway needs", states},
		{"a rendered one that is there", "render -f new.yaml", "", cilium(made, egress, ""), cli.ExitInvalid, "an egress gateway needs", states},
		{"what a type does on a cloud", "explain calico", "", "", cli.ExitOK, "- on openstack: no encapsulation; routes by BIRD", ""},
		{"standalone", "validate new.yaml --mode standalone", "", cilium(planned, egress, ""), cli.ExitInvalid, "an egress gateway needs", states},
		{"a Shoot that is there", "validate new.yaml", "", cilium(made, egress, ""), cli.ExitInvalid, "an egress gateway needs", states},

		{"an update", "validate new.yaml --old old.yaml", live(egress, withoutKubeProxy), cilium(planned, egress, ""), cli.ExitOK, "valid (cilium)", "kubeProxy"},
		{"an update with a change", "validate new.yaml --old old.yaml", live("{}", withoutKubeProxy), cilium(planned, "{tunnel: geneve}", ", kubeProxy: {mode: NFTables}"), cli.ExitOK, "tunnel: the change from vxlan to geneve", "kubeProxy.enabled"},
		{"a user who wants it otherwise", "validate new.yaml --old old.yaml", live("{}", withoutKubeProxy), cilium(planned, "{}", ", kubeProxy: {enabled: true}"), cli.ExitOK, "kubeProxy.enabled: the change from false to true is disruptive", ""},
		{"a user who removes it", "validate new.yaml --old old.yaml", cilium(applied, "{}", withoutKubeProxy) + status, cilium(planned, "{}", ""), cli.ExitOK, "kubeProxy.enabled: the change from false to true is disruptive", ""},
		{"what the Shoot does not have", "validate new.yaml --old old.yaml", live("{}", ", kubeProxy: {enabled: true}"), cilium(planned, "{}", ""), cli.ExitOK, "valid (cilium", "the change"},
		{"two manifests", "validate new.yaml --old old.yaml", cilium(planned, "{}", withoutKubeProxy), cilium(planned, "{}", ""), cli.ExitOK, "the change from false to true", ""},
		{"in a config that is there", "validate new.yaml --old old.yaml", onAWS(made, "{overlay: {enabled: false}}"), onAWS(planned, "{}"), cli.ExitOK, "valid (calico", "the change"},
		{"an overlay that the update leaves out", "validate new.yaml --old old.yaml", onAWS(planned, "{overlay: {enabled: true}}"), onAWS(planned, "{}"), cli.ExitOK, states + `{"spec":{"networking":{"providerConfig":{"overlay":{"enabled":true}}}}}` + "\n", "the change"},
		{"an overlay that the update changes", "validate new.yaml --old old.yaml", onAWS(made, "{overlay: {enabled: true}}"), onAWS(planned, "{overlay: {enabled: false}}"), cli.ExitOK, "overlay.enabled: the change from true to false", states},
		{"a plan", "plan old.yaml new.yaml", live(egress, withoutKubeProxy), cilium(planned, egress, ""), cli.ExitOK, "no changes", "kubeProxy"},

		{"the workers go", "validate new.yaml --old old.yaml", live("{}", withoutKubeProxy), workerless(cilium(planned, "{unknown: 1}", "")), cli.ExitOK, "shoot garden-dev/mine: valid (cilium)", "error"},
		{"workers come", "validate new.yaml --old old.yaml", workerless(live("{unknown: 1}", withoutKubeProxy)), cilium(planned, "{unknown: 1}", withoutKubeProxy), cli.ExitInvalid, "error: new.yaml: " + at + ".unknown", "was so before"},
		{"without workers nothing is planned", "plan old.yaml new.yaml", live("{}", ""), workerless(cilium(planned, "{}", "")), cli.ExitInvalid, "spec.provider.workers: Required value", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			for file, text := range fromTo(test.old, test.next) {
				g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
			}
			var out strings.Builder
			exit := cli.Run(strings.Fields(test.args), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, plugins.All(), providers.All())
			g.Expect(exit).To(Equal(test.exit), out.String())
			g.Expect(out.String()).To(ContainSubstring(test.says))
			if test.silent != "" {
				g.Expect(out.String()).NotTo(ContainSubstring(test.silent))
			}
		})
	}
}
