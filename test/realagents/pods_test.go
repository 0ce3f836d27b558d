// SPDX-License-Identifier: Apache-2.0

package realagents

import (
	"encoding/json"
	"net"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
)

// These have a pod of sandbox/cmd/traffic on each node, with a Service, and one that is not of
// the Service.
const senders = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: traffic, namespace: default}
spec:
  selector: {matchLabels: {app: traffic}}
  template:
    metadata: {labels: {app: traffic}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: traffic, image: "sandbox.invalid/traffic:v1", imagePullPolicy: IfNotPresent, readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {name: traffic, namespace: default}
spec:
  ipFamilyPolicy: PreferDualStack
  selector: {app: traffic}
  ports: [{name: http, port: 80, targetPort: 8080}]
`

// pod is a pod of senders.
type pod struct {
	name, node string
	addresses  []string
}

func url(address, port string) string { return "http://" + net.JoinHostPort(address, port) + "/" }

// senders starts the pods of senders, and returns them in the order of their nodes.
func (l *landscape) senders() []pod {
	l.t.Helper()
	l.manifest("apply", senders)
	l.must("-n", "default", "rollout", "status", "daemonset/traffic", "--timeout="+patience.String())
	return l.pods("default", "app=traffic")
}

// pods returns the pods with a label, in the order of their nodes.
func (l *landscape) pods(namespace, label string) []pod {
	l.t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ NodeName string }
			Status   struct{ PodIPs []struct{ IP string } }
		}
	}
	l.Expect(json.Unmarshal([]byte(l.must("-n", namespace, "get", "pods", "-l", label, "-o", "json")), &list)).To(Succeed())
	var all []pod
	for _, item := range list.Items {
		one := pod{name: item.Metadata.Name, node: item.Spec.NodeName}
		for _, address := range item.Status.PodIPs {
			one.addresses = append(one.addresses, address.IP)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b pod) int { return strings.Compare(a.node, b.node) })
	return all
}

// must is kubectl that succeeds.
func (l *landscape) must(args ...string) string {
	l.t.Helper()
	output, err := l.shoot.Kubectl(l.t.Context(), "", args...)
	l.Expect(err).NotTo(HaveOccurred())
	return output
}

// manifest is kubectl apply or delete of objects.
func (l *landscape) manifest(verb, objects string) {
	l.t.Helper()
	_, err := l.shoot.Kubectl(l.t.Context(), objects, verb, "-f", "-")
	l.Expect(err).NotTo(HaveOccurred())
}

// get asks an HTTP server from a pod.
func (l *landscape) get(from pod, url string) error {
	_, err := l.shoot.Kubectl(l.t.Context(), "", "-n", "default", "exec", from.name, "--", "traffic", "get", "-timeout", "2s", url)
	return err
}

// ping sends a packet of the protocol ICMP from a pod.
func (l *landscape) ping(from pod, address string) error {
	program := "ping"
	if strings.Contains(address, ":") {
		program = "ping6"
	}
	_, err := l.shoot.Kubectl(l.t.Context(), "", "-n", "default", "exec", from.name, "--", program, "-c", "1", "-W", "2", address)
	return err
}

// allReach checks that each of the pods and of their nodes reaches each pod, and their Service.
func (l *landscape) allReach(pods []pod) {
	l.t.Helper()
	var services struct{ Spec struct{ ClusterIPs []string } }
	l.Expect(json.Unmarshal([]byte(l.must("-n", "default", "get", "service", "traffic", "-o", "json")), &services)).To(Succeed())
	for _, from := range pods {
		for _, to := range pods {
			for _, address := range to.addresses {
				l.Eventually(func() error { return l.get(from, url(address, "8080")) }).Should(Succeed(), "%s -> %s", from.node, to.node)
			}
		}
		for _, address := range services.Spec.ClusterIPs {
			l.Eventually(func() error { return l.get(from, url(address, "80")) }).Should(Succeed(), "%s -> Service", from.node)
		}
		l.Eventually(func() error { return l.get(from, "http://traffic.default.svc.cluster.local/") }).Should(Succeed(), "%s -> name", from.node)
	}
	for _, address := range pods[1].addresses {
		_, err := l.shoot.Node(pods[0].node).Exec(l.t.Context(), "ping", "-c", "1", "-W", "5", address)
		l.Expect(err).NotTo(HaveOccurred(), "node %s -> pod on %s", pods[0].node, pods[1].node)
	}
}
