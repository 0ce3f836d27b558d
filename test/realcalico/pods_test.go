// SPDX-License-Identifier: Apache-2.0

package realcalico

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"

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

// kubectl runs the sandbox's kubectl in the shoot.
func (l *landscape) kubectl(stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(l.t.Context(), l.box.Kubectl, append([]string{"--kubeconfig", l.box.Shoots[0].Kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// must is kubectl that succeeds.
func (l *landscape) must(args ...string) string {
	l.t.Helper()
	output, err := l.kubectl("", args...)
	l.Expect(err).NotTo(HaveOccurred())
	return output
}

// manifest is kubectl apply or delete of objects.
func (l *landscape) manifest(verb, objects string) {
	l.t.Helper()
	_, err := l.kubectl(objects, verb, "-f", "-")
	l.Expect(err).NotTo(HaveOccurred())
}

// get asks an HTTP server from a pod.
func (l *landscape) get(from pod, url string) error {
	_, err := l.kubectl("", "-n", "default", "exec", from.name, "--", "traffic", "get", "-timeout", "2s", url)
	return err
}

// ping sends a packet of the protocol ICMP from a pod.
func (l *landscape) ping(from pod, address string) error {
	program := "ping"
	if strings.Contains(address, ":") {
		program = "ping6"
	}
	_, err := l.kubectl("", "-n", "default", "exec", from.name, "--", program, "-c", "1", "-W", "2", address)
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
		_, err := l.box.Node(l.box.Shoots[0], pods[0].node).Exec(l.t.Context(), "ping", "-c", "1", "-W", "5", address)
		l.Expect(err).NotTo(HaveOccurred(), "node %s -> pod on %s", pods[0].node, pods[1].node)
	}
}

// count is what was sent and lost, as the program traffic reports it.
type count struct {
	UDP  struct{ Sent, Lost int }
	HTTP struct{ Sent, Lost int }
	Gaps []struct {
		Lost         int
		Milliseconds float64
	}
}

// longest is the longest time in which nothing arrived.
func (c count) longest() time.Duration {
	var longest float64
	for _, gap := range c.Gaps {
		longest = max(longest, gap.Milliseconds)
	}
	return time.Duration(longest * float64(time.Millisecond))
}

func (c count) String() string {
	return fmt.Sprintf("%d of %d datagrams (longest gap %s), %d of %d requests", c.UDP.Lost, c.UDP.Sent, c.longest().Round(time.Millisecond), c.HTTP.Lost, c.HTTP.Sent)
}

// load is traffic in both directions between two pods, in each IP family: a datagram each 5 ms, and
// HTTP requests.
type load struct{ ended []chan count }

// startLoad begins to send, for a time.
func (l *landscape) startLoad(a, b pod, last time.Duration) *load {
	started := &load{}
	for _, pair := range [][2]pod{{a, b}, {b, a}} {
		for _, address := range pair[1].addresses {
			ended := make(chan count, 1)
			started.ended = append(started.ended, ended)
			go func() {
				defer close(ended)
				one, err := l.send(pair[0], net.JoinHostPort(address, "8080"), last)
				if err != nil {
					l.t.Errorf("send from %s: %v", pair[0].node, err)
					return
				}
				ended <- one
			}()
		}
	}
	return started
}

func (l *landscape) send(from pod, to string, last time.Duration) (sent count, err error) {
	output, err := l.kubectl("", "-n", "default", "exec", from.name, "--", "traffic", "send", "-to", to, "-every", "5ms", "-for", last.String())
	if err == nil {
		err = json.Unmarshal([]byte(output), &sent)
	}
	return sent, err
}

// end waits until all is sent, and returns the worst of the directions and families.
func (s *load) end() count {
	var worst count
	for i, ended := range s.ended {
		one := <-ended
		if i == 0 || one.UDP.Lost > worst.UDP.Lost {
			worst = one
		}
	}
	return worst
}
