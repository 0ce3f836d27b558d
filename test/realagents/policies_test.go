// SPDX-License-Identifier: Apache-2.0

package realagents

import (
	"net"
	"strings"
	"time"

	. "github.com/onsi/gomega"
)

const denyAll = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny-all, namespace: default}
spec: {podSelector: {matchLabels: {app: traffic}}, policyTypes: [Ingress]}
`

const allowHTTP = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow-http, namespace: default}
spec:
  podSelector: {matchLabels: {app: traffic}}
  policyTypes: [Ingress]
  ingress: [{from: [{podSelector: {matchLabels: {app: traffic}}}], ports: [{port: 8080}]}]
`

const denyICMP = `
apiVersion: crd.projectcalico.org/v1
kind: GlobalNetworkPolicy
metadata: {name: default.deny-icmp}
spec:
  tier: default
  order: 10
  selector: app == 'traffic'
  types: [Egress]
  egress: [{action: Deny, protocol: ICMP}, {action: Deny, protocol: ICMPv6}, {action: Allow}]
`

const denyByAdmin = `
apiVersion: policy.networking.k8s.io/v1alpha1
kind: AdminNetworkPolicy
metadata: {name: deny-8080}
spec:
  priority: 5
  subject: {pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: traffic}}}}
  ingress: [{name: x, action: Deny, from: [{namespaces: {}}], ports: [{portNumber: {port: 8080}}]}]
`

// forgotten is longer than an ICMP exchange is remembered, in which eBPF lets packets pass whatever
// a later policy says.
const forgotten = 15 * time.Second

// networkPoliciesWork checks that a NetworkPolicy denies what it should, and nothing else, and that all is
// allowed again without it.
func (l *landscape) networkPoliciesWork(from, to pod) {
	l.t.Helper()
	for _, address := range to.addresses {
		http := func() error { return l.get(from, url(address, "8080")) }
		ping := func() error { return l.ping(from, address) }
		l.Eventually(ping).Should(Succeed(), "without NetworkPolicies")
		l.manifest("apply", denyAll)
		l.Eventually(http).ShouldNot(Succeed(), "NetworkPolicy denies")
		l.Eventually(ping).WithPolling(forgotten).ShouldNot(Succeed(), "NetworkPolicy denies all")
		l.manifest("apply", allowHTTP)
		l.Eventually(http).Should(Succeed(), "NetworkPolicy allows HTTP")
		l.Expect(ping()).NotTo(Succeed(), "and nothing else")
		l.manifest("delete", denyAll)
		l.manifest("delete", allowHTTP)
		l.Eventually(ping).Should(Succeed(), "without NetworkPolicies again")
	}
}

// policiesWork checks that each kind of policy denies what it should, and nothing else, and that
// all is allowed again without it.
func (l *landscape) policiesWork(from, to pod) {
	l.t.Helper()
	l.networkPoliciesWork(from, to)
	for _, address := range to.addresses {
		http := func() error { return l.get(from, url(address, "8080")) }
		ping := func() error { return l.ping(from, address) }
		l.manifest("apply", denyICMP)
		l.Eventually(ping).WithPolling(forgotten).ShouldNot(Succeed(), "GlobalNetworkPolicy denies")
		l.Expect(http()).To(Succeed(), "and nothing else")
		l.manifest("delete", denyICMP)
		l.Eventually(ping).Should(Succeed(), "without GlobalNetworkPolicy")

		l.manifest("apply", denyByAdmin)
		l.Eventually(http).ShouldNot(Succeed(), "AdminNetworkPolicy denies, of which the definition here has no defaults")
		l.Expect(ping()).To(Succeed(), "and nothing else")
		l.manifest("delete", denyByAdmin)
		l.Eventually(http).Should(Succeed(), "without AdminNetworkPolicy")
	}
}

// probesAreProtected checks that the probe's own NetworkPolicy is in force: other pods do not
// reach probes, which reach each other, or else the verdict would not be what it is.
func (l *landscape) probesAreProtected(from pod) {
	l.t.Helper()
	probes := l.pods("kube-system", "k8s-app=trellis-probe")
	l.Expect(probes).To(HaveLen(2))
	for _, probe := range probes {
		for _, address := range probe.addresses {
			_, err := l.shoot.Kubectl(l.t.Context(), "", "-n", "default", "exec", from.name, "--", "traffic", "get", "-timeout", "3s", "http://"+net.JoinHostPort(address, "8099")+"/")
			l.Expect(err).To(HaveOccurred(), "a pod that is no probe, to %s", address)
			l.Expect(err.Error()).To(Or(ContainSubstring("deadline exceeded"), ContainSubstring("timeout")), "it gets no answer")
		}
	}
}

// nothingIsForbidden checks that neither the agents nor the operator lack a right.
func (l *landscape) nothingIsForbidden() {
	l.t.Helper()
	texts := map[string]string{"operator": l.operatorLog.String()}
	for _, name := range strings.Fields(l.must("-n", "kube-system", "get", "pods", "-o", "name")) {
		output, err := l.shoot.Kubectl(l.t.Context(), "", "-n", "kube-system", "logs", name, "--all-containers", "--tail=-1")
		if err == nil {
			texts[name] = output
		}
	}
	for name, text := range texts {
		for line := range strings.Lines(text) {
			l.Expect(strings.ToLower(line)).NotTo(ContainSubstring("forbidden"), name)
		}
	}
}
