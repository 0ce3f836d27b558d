// SPDX-License-Identifier: Apache-2.0

package test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// needsRealNodes returns the directory with what real nodes run. It skips the test where they
// cannot run.
func needsRealNodes(t *testing.T) string {
	t.Helper()
	switch got := check(t, t.TempDir()); got.status {
	case 0:
	case 2:
		t.Skip(got.wrote)
	default:
		t.Fatalf("check: exit status %d\n%s", got.status, got.wrote)
	}
	return realNodes(t).Dir
}

// bridgeNetwork is the simplest network: a bridge for pods on each node, and the router knows
// which pods are on which node.
func (s *sandbox) bridgeNetwork(t *testing.T) {
	t.Helper()
	type node struct {
		Metadata struct{ Name string }
		Spec     struct{ PodCIDRs []string }
	}
	var list struct{ Items []node }
	if err := json.Unmarshal([]byte(s.must(t, s.Shoots[0].Kubeconfig, "get", "nodes", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, on := range list.Items {
		var ranges []string
		for _, pods := range on.Spec.PodCIDRs {
			ranges = append(ranges, fmt.Sprintf(`[{"subnet": %q}]`, pods))
		}
		config := fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
			"ipam": {"type": "host-local", "ranges": [%s], "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}}, {"type": "portmap", "capabilities": {"portMappings": true}}]}`,
			strings.Join(ranges, ", "))
		if len(on.Spec.PodCIDRs) == 1 {
			other := map[bool]string{true: `{"dst": "0.0.0.0/0"}`, false: `{"dst": "::/0"}`}[strings.Contains(on.Spec.PodCIDRs[0], ":")]
			config = strings.Replace(strings.Replace(config, other+", ", "", 1), ", "+other, "", 1)
		}
		s.onNode(t, on.Metadata.Name, "sh", "-c", "cat > /etc/cni/net.d/10-pods.conflist <<'E'\n"+config+"\nE")
		for i, pods := range on.Spec.PodCIDRs {
			s.onNode(t, "router", "ip", "route", "add", pods, "via", s.addressOf(t, on.Metadata.Name, i))
		}
	}
}

func (s *sandbox) addressOf(t *testing.T, node string, family int) string {
	t.Helper()
	for _, real := range s.Shoots[0].RealNodes {
		if real.Name == node {
			return real.Addresses[family]
		}
	}
	t.Fatalf("there is no node %s in %+v", node, s.Shoots[0].RealNodes)
	return ""
}

// node runs a command of `trellis-sandbox node`.
func (s *sandbox) node(t *testing.T, command string, args ...string) string {
	t.Helper()
	status, stdout, stderr := run(t, append([]string{"node", command, "--dir", s.Dir}, args...)...)
	if status != 0 {
		t.Fatalf("node %s %q: exit status %d\n%s%s", command, args, status, stdout, stderr)
	}
	return stdout
}

func (s *sandbox) onNode(t *testing.T, node string, command ...string) string {
	t.Helper()
	return s.node(t, "exec", append([]string{node, "--"}, command...)...)
}

const echo = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: echo}
spec:
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: echo
        image: sandbox.invalid/traffic:v1
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
        resources: {limits: {memory: 64Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: echo}
spec:
  ipFamilyPolicy: PreferDualStack
  selector: {app: echo}
  ports: [{port: 80, targetPort: 8080}]
`

// pod is what the test reads of a Pod.
type pod struct {
	Metadata struct{ Name string }
	Spec     struct{ NodeName string }
	Status   struct{ PodIPs []struct{ IP string } }
}

// echoPods are the pods of echo in the order of their nodes.
func (s *sandbox) echoPods(t *testing.T) []pod {
	t.Helper()
	var list struct{ Items []pod }
	if err := json.Unmarshal([]byte(s.must(t, s.Shoots[0].Kubeconfig, "get", "pods", "-l", "app=echo", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b pod) int { return strings.Compare(a.Spec.NodeName, b.Spec.NodeName) })
	return list.Items
}

// get fetches what host and port answer, from within a pod. It asks again for ten seconds, the
// time that kube-proxy may need to know of new pods.
func (s *sandbox) get(t *testing.T, from pod, host string, port int) (answer string) {
	t.Helper()
	eventually(t, fmt.Sprintf("answer of %s to %s", host, from.Metadata.Name), func() bool {
		var err error
		answer, err = s.try(s.Shoots[0].Kubeconfig, getIn(from, host, port)...)
		return err == nil
	})
	return answer
}

// tryGet is one request of get.
func (s *sandbox) tryGet(from pod, host string, port int) error {
	_, err := s.try(s.Shoots[0].Kubeconfig, getIn(from, host, port)...)
	return err
}

func getIn(from pod, host string, port int) []string {
	url := "http://" + net.JoinHostPort(host, strconv.Itoa(port)) + "/"
	return []string{"exec", from.Metadata.Name, "--", "traffic", "get", url}
}

// TestPodsOfRealNodesTalk brings two real nodes from nothing to pods that reach each other,
// kills and restarts one, and ends the sandbox in both ways. It prints how long each takes.
func TestPodsOfRealNodesTalk(t *testing.T) {
	programs := needsRealNodes(t)
	for _, families := range []string{"IPv4", "IPv6", "IPv4,IPv6"} {
		t.Run(families, func(t *testing.T) { podsTalk(t, programs, families) })
	}
}

func podsTalk(t *testing.T, programs, families string) {
	before := look(t)
	began := time.Now()
	took := func(what string) { t.Logf("%5.1f s: %s", time.Since(began).Seconds(), what) }
	dir, err := os.MkdirTemp("", "real-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := up(t, "--dir", dir, "--shoot=garden-dev/one", "--nodes=real:2", "--node-programs", programs, "--ip-families", families)
	took("both nodes have registered")
	shoot := s.Shoots[0].Kubeconfig
	s.bridgeNetwork(t)
	s.must(t, shoot, "wait", "--for=condition=Ready", "node", "--all", "--timeout=60s")
	took("both nodes are Ready")
	if out, err := s.apply(shoot, echo, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.must(t, shoot, "-n", "kube-system", "rollout", "status", "daemonset/kube-proxy", "deployment/coredns", "--timeout=120s")
	s.must(t, shoot, "rollout", "status", "daemonset/echo", "--timeout=60s")
	took("kube-proxy, CoreDNS and the pods are ready")

	s.checkTraffic(t, strings.Count(families, ",")+1)
	took("pods, Services, names, logs and exec work")

	s.node(t, "kill", "node-2")
	s.node(t, "start", "node-2")
	for deadline := time.Now().Add(time.Minute); !s.talks(t); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no traffic with the restarted node within a minute")
		}
	}
	took("node-2 was killed and started, and its pods work again")

	s.node(t, "fault", "node-2", "--block=in")
	if s.talks(t) {
		t.Error("packets get to node-2, though it is blocked")
	}
	s.node(t, "heal")
	if !s.talks(t) {
		t.Error("no packets get to node-2, though it is healed")
	}
	took("node-2 was blocked and healed")

	stopped := time.Now()
	if families == "IPv6" { // one of both ways for each
		s.stop(t, syscall.SIGKILL)
	} else if status := s.stop(t, syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d\n%s", status, s.stderr)
	}
	nothingSince(t, before)
	t.Logf("%5.1f s: everything has ended, after %.1f s", time.Since(began).Seconds(), time.Since(stopped).Seconds())
	if status, _, stderr := run(t, "down", "--dir", dir); status != 0 || !missing(filepath.Join(dir, "nodes")) {
		t.Errorf("down: exit status %d, and the files of nodes are gone: %v\n%s", status, missing(filepath.Join(dir, "nodes")), stderr)
	}
}

// talks reports whether a pod on the first node reaches one on the second.
func (s *sandbox) talks(t *testing.T) bool {
	t.Helper()
	pods := s.echoPods(t)
	return len(pods) == 2 && len(pods[1].Status.PodIPs) > 0 && s.tryGet(pods[0], pods[1].Status.PodIPs[0].IP, 8080) == nil
}

// checkTraffic checks what only real nodes have.
func (s *sandbox) checkTraffic(t *testing.T, families int) {
	t.Helper()
	shoot := s.Shoots[0].Kubeconfig
	pods := s.echoPods(t)
	if len(pods) != 2 {
		t.Fatalf("got the pods %+v", pods)
	}
	for i, from := range pods {
		to := pods[1-i]
		if len(to.Status.PodIPs) != families {
			t.Errorf("%s has %+v, want %d addresses", to.Metadata.Name, to.Status.PodIPs, families)
		}
		for _, address := range to.Status.PodIPs {
			if got := s.get(t, from, address.IP, 8080); !strings.HasPrefix(got, to.Metadata.Name) {
				t.Errorf("%s answers %q", address.IP, got)
			}
		}
		if got := s.get(t, from, "echo.default.svc.cluster.local", 80); !strings.HasPrefix(got, "echo-") {
			t.Errorf("the Service answers %q", got)
		}
	}
	for _, address := range strings.Fields(s.must(t, shoot, "get", "service", "echo", "-o", `jsonpath={.spec.clusterIPs[*]}`)) {
		s.get(t, pods[0], address, 80)
	}
	if got := s.must(t, shoot, "logs", "-n", "kube-system", "deployment/coredns"); !strings.Contains(got, "CoreDNS") {
		t.Errorf("the log of CoreDNS is %q", got)
	}
}
