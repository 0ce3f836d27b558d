// SPDX-License-Identifier: Apache-2.0

package test

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const workload = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: kube-system}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      serviceAccountName: agent
      priorityClassName: system-node-critical
      hostNetwork: true
      initContainers: [{name: install, image: none}]
      containers: [{name: agent, image: none, securityContext: {privileged: true}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: kube-system}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: agent
      containers: [{name: web, image: none}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: kube-system}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: once, image: none}]
`

const unknownPriority = `
apiVersion: v1
kind: Pod
metadata: {name: important, namespace: kube-system}
spec:
  priorityClassName: gardener-shoot-system-900
  containers: [{name: c, image: none}]
`

// TestLandscape checks all that a user can see of a sandbox with one shoot.
func TestLandscape(t *testing.T) {
	s := up(t, "--shoot=garden-dev/johndoe-azure=3", "--user=alice=dev,ops")
	t.Run("report", s.testReport)
	t.Run("workload", s.testWorkload)
	t.Run("admission", s.testAdmission)
	t.Run("tokens", s.testTokens)
	t.Run("users", s.testUsers)
	t.Run("namespaces", s.testNamespaces)
	t.Run("secret", s.testSecret)
	t.Run("files", s.testFiles)
	t.Run("in use", s.testInUse)
}

func (s *sandbox) shoot() string { return s.Shoots[0].Kubeconfig }

func (s *sandbox) testReport(t *testing.T) {
	if s.PID != s.cmd.Process.Pid || s.MemoryMiB < 100 || !strings.HasPrefix(s.KubernetesVersion, "v1.") {
		t.Errorf("the report is %+v", s.report)
	}
	if len(s.Shoots) != 1 || s.Shoots[0].Namespace != "garden-dev" || s.Shoots[0].Name != "johndoe-azure" || s.Shoots[0].Nodes != 3 {
		t.Errorf("shoots are %+v", s.Shoots)
	}
	version := s.must(t, s.shoot(), "version")
	if strings.Count(version, s.KubernetesVersion) != 2 {
		t.Errorf("client and server are not both %s:\n%s", s.KubernetesVersion, version)
	}
}

func (s *sandbox) testWorkload(t *testing.T) {
	if out, err := s.apply(s.shoot(), workload, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"daemonset/agent", "deployment/web"} {
		s.must(t, s.shoot(), "-n", "kube-system", "rollout", "status", "--timeout=15s", name)
	}
	s.must(t, s.shoot(), "-n", "kube-system", "wait", "--for=condition=Complete", "--timeout=15s", "job/once")

	pods := netip.MustParsePrefix("100.96.0.0/11")
	nodes := netip.MustParsePrefix("10.250.0.0/16")
	for label, want := range map[string]struct {
		count int
		from  netip.Prefix
	}{"app=agent": {3, nodes}, "app=web": {4, pods}} {
		ips := strings.Fields(s.must(t, s.shoot(), "-n", "kube-system", "get", "pods", "-l", label, "-o", "jsonpath={.items[*].status.podIP}"))
		if len(ips) != want.count {
			t.Errorf("%s: %d pods have an address, want %d", label, len(ips), want.count)
		}
		for _, ip := range ips {
			if !want.from.Contains(netip.MustParseAddr(ip)) {
				t.Errorf("%s: %s is not of %s", label, ip, want.from)
			}
		}
	}

	s.must(t, s.shoot(), "-n", "kube-system", "delete", "--timeout=15s", "daemonset/agent")
	s.must(t, s.shoot(), "-n", "kube-system", "wait", "--for=delete", "--timeout=15s", "pods", "-l", "app=agent")
}

func (s *sandbox) testAdmission(t *testing.T) {
	out, err := s.apply(s.shoot(), unknownPriority, "apply", "-f", "-")
	if err == nil || !strings.Contains(out, "no PriorityClass with name gardener-shoot-system-900") {
		t.Errorf("a pod with an unknown PriorityClass: %v\n%s", err, out)
	}
}

func (s *sandbox) testTokens(t *testing.T) {
	for _, audience := range []string{"", "gardener"} {
		args := []string{"-n", "default", "create", "token", "default"}
		if audience != "" {
			args = append(args, "--audience="+audience)
		}
		token := s.must(t, s.shoot(), args...)
		who, err := s.try(anonymous(t, s.shoot()), "--token="+token, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
		if err != nil || who != "system:serviceaccount:default:default" {
			t.Errorf("audience %q: %s (%v)", audience, who, err)
		}
	}
}

// anonymous copies a kubeconfig without its credentials.
func anonymous(t *testing.T, kubeconfig string) string {
	t.Helper()
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(content)) {
		if !strings.Contains(line, "client-certificate-data") && !strings.Contains(line, "client-key-data") {
			kept = append(kept, line)
		}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(strings.Join(kept, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *sandbox) testUsers(t *testing.T) {
	alice := s.Seed.Users["alice"]
	var review struct {
		Status struct {
			UserInfo struct {
				Username string
				Groups   []string
			}
		}
	}
	if err := json.Unmarshal([]byte(s.must(t, alice, "auth", "whoami", "-o", "json")), &review); err != nil {
		t.Fatal(err)
	}
	who := review.Status.UserInfo
	if who.Username != "alice" || strings.Join(who.Groups, " ") != "dev ops system:authenticated" {
		t.Errorf("alice is %+v", who)
	}
	get := []string{"-n", "garden-dev", "get", "secrets"}
	if out, err := s.try(alice, get...); err == nil || !strings.Contains(out, "forbidden") {
		t.Errorf("alice without a binding: %v\n%s", err, out)
	}
	s.must(t, s.Seed.Kubeconfig, "-n", "garden-dev", "create", "rolebinding", "devs", "--clusterrole=admin", "--group=dev")
	eventually(t, "right for alice", func() bool { _, err := s.try(alice, get...); return err == nil })
	if _, err := s.try(alice, "-n", "default", "get", "secrets"); err == nil {
		t.Error("the binding gives alice rights in other namespaces")
	}
}

func (s *sandbox) testNamespaces(t *testing.T) {
	s.must(t, s.Seed.Kubeconfig, "create", "namespace", "shoot--dev--x")
	s.must(t, s.Seed.Kubeconfig, "-n", "shoot--dev--x", "create", "configmap", "content")
	s.must(t, s.Seed.Kubeconfig, "delete", "namespace", "shoot--dev--x", "--timeout=20s")
}

func (s *sandbox) testSecret(t *testing.T) {
	encoded := s.must(t, s.Seed.Kubeconfig, "-n", "garden-dev", "get", "secret", "johndoe-azure.kubeconfig", "-o", "jsonpath={.data.kubeconfig}")
	kubeconfig, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	if nodes := strings.Fields(s.must(t, path, "get", "nodes", "-o", "name")); len(nodes) != 3 {
		t.Errorf("the shoot behind the Secret has nodes %v", nodes)
	}
}

func (s *sandbox) testFiles(t *testing.T) {
	err := filepath.WalkDir(s.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.Type()&(os.ModeSymlink|os.ModeSocket) == 0 && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode().Perm())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func (s *sandbox) testInUse(t *testing.T) {
	status, _, stderr := run(t, "up", "--dir", s.Dir)
	if status != 2 || !strings.Contains(stderr, "in use") {
		t.Errorf("a second sandbox in the same directory: exit status %d\n%s", status, stderr)
	}
}
