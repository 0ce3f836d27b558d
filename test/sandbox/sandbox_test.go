// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var shared = Share(Options{Users: []string{"alice=dev"}, Stderr: io.Discard})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

func TestShared(t *testing.T) {
	s := shared.Get(t)
	if s != shared.Get(t) {
		t.Error("a second sandbox was started")
	}
	out, err := exec.Command(s.Kubectl, "--kubeconfig", s.Seed.Users["alice"], "auth", "whoami").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "alice") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestForTest(t *testing.T) {
	var s *Sandbox
	t.Run("use", func(t *testing.T) {
		s = ForTest(t, Options{Shoots: []string{"garden-dev/one"}, Nodes: 2, Stderr: io.Discard})
		if len(s.Shoots) != 1 || s.Shoots[0].Name != "one" || s.Shoots[0].Nodes != 2 {
			t.Errorf("shoots are %+v", s.Shoots)
		}
	})
	select {
	case <-s.Done():
	default:
		t.Error("the sandbox still runs after its test")
	}
	if err := s.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	_, err := Start(context.Background(), Options{Shoots: []string{"nameless"}, Stderr: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "NAMESPACE/NAME") {
		t.Errorf("got %v", err)
	}
}

func TestStartIsCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, Options{Stderr: io.Discard}); err == nil {
		t.Error("Start returned no error, though its context had ended")
	}
}

func TestWhyRealNodesCannotRunIsOneLine(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	reason, err := WithoutRealNodes(t.Context(), Plans["e2e"])
	if want := map[bool]string{true: "there is no dpkg-query", false: "need root"}[os.Geteuid() == 0]; err != nil ||
		!strings.Contains(reason, want) || strings.Contains(reason, "\n") {
		t.Errorf("got %q and %v, want %q", reason, err, want)
	}
}

func TestArgs(t *testing.T) {
	got := strings.Join(Options{
		Shoots: []string{"a/b", "c/d"}, Nodes: 2, Users: []string{"x=y,z"}, AuditPolicy: "p.yaml", Dir: "/dir",
		Timeout: time.Minute, Args: []string{"--pod-cidr=10.0.0.0/16"},
	}.args(), " ")
	if real := strings.Join(Options{Real: &RealNodes{
		Nodes: 2, Subnets: 2, Programs: "/p", Families: "IPv6", Images: []string{"a.tar", "b.tar"},
	}}.args(), " "); real != "up --nodes=real:2 --node-programs /p --subnets=2 --ip-families IPv6 --image a.tar --image b.tar" {
		t.Errorf("real nodes: got %s", real)
	}
	want := "up --shoot a/b --shoot c/d --user x=y,z --audit-policy p.yaml --nodes=2 --dir /dir --timeout 1m0s --pod-cidr=10.0.0.0/16"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
