// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this test program run as a component of itself, as the sandbox
// program does.
func TestMain(m *testing.M) {
	if !IsComponent() {
		os.Exit(m.Run())
	}
	HoldLifeline()
	switch os.Args[0] {
	case "dying":
		fmt.Println("first line")
		fmt.Println("last line")
		os.Exit(3)
	case "succeeding":
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	default:
		time.Sleep(time.Hour)
	}
}

func newGroup(t *testing.T) (*Group, chan error) {
	t.Helper()
	deaths := make(chan error, 10)
	group, err := NewGroup(func(err error) { deaths <- err })
	if err != nil {
		t.Fatal(err)
	}
	return group, deaths
}

func spec(t *testing.T, component string, stage Stage) Spec {
	return Spec{Component: component, Stage: stage, Log: filepath.Join(t.TempDir(), "logs", component+".log")}
}

func running(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestDeathIsReported(t *testing.T) {
	group, deaths := newGroup(t)
	defer group.Stop(time.Second)
	if err := group.Start(spec(t, "dying", Client)); err != nil {
		t.Fatal(err)
	}
	var death *Death
	if err := <-deaths; !errors.As(err, &death) {
		t.Fatalf("got %v", err)
	}
	if death.State != "exit status 3" || !strings.Contains(death.Error(), "last line") {
		t.Errorf("got %v", death)
	}
}

func TestStop(t *testing.T) {
	group, deaths := newGroup(t)
	stubborn := spec(t, "stubborn", Server)
	for _, s := range []Spec{spec(t, "sleeping", Client), stubborn, spec(t, "sleeping", Storage)} {
		if err := group.Start(s); err != nil {
			t.Fatal(err)
		}
	}
	for content := ""; !strings.Contains(content, "ready"); time.Sleep(10 * time.Millisecond) {
		bytes, _ := os.ReadFile(stubborn.Log)
		content = string(bytes)
	}
	started := time.Now()
	group.Stop(300 * time.Millisecond)
	if took := time.Since(started); took < 300*time.Millisecond || took > 30*time.Second {
		t.Errorf("stopping took %s", took)
	}
	for _, pid := range group.PIDs() {
		if running(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
	if err := group.Start(spec(t, "sleeping", Client)); err == nil {
		t.Error("a stopped group starts a component")
	}
	select {
	case err := <-deaths:
		t.Errorf("onDeath was called for a component that Stop ended: %v", err)
	default:
	}
}

func TestKillIsNoDeath(t *testing.T) {
	group, deaths := newGroup(t)
	defer group.Stop(time.Second)
	pid, err := group.Launch(spec(t, "stubborn", Server))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, it is not there any more
		group.Kill(pid)
		if running(pid) {
			t.Error("the process still runs")
		}
	}
	select {
	case err := <-deaths:
		t.Errorf("onDeath was called for a component that Kill ended: %v", err)
	default:
	}
}

func TestAComponentMayEnd(t *testing.T) {
	group, deaths := newGroup(t)
	defer group.Stop(time.Second)
	if err := group.RunToEnd(spec(t, "succeeding", Client)); err != nil {
		t.Error(err)
	}
	if err := group.RunToEnd(spec(t, "dying", Client)); !errors.As(err, new(*Death)) {
		t.Errorf("got %v", err)
	}
	select {
	case err := <-deaths:
		t.Errorf("onDeath was called: %v", err)
	default:
	}
}

// The group forgets a component that may end, in the moment in which Stop looks at all of them.
func TestStopRightAfterAComponentHasEnded(t *testing.T) {
	for range 50 {
		group, _ := newGroup(t)
		if err := group.RunToEnd(spec(t, "succeeding", Client)); err != nil {
			t.Error(err)
		}
		group.Stop(time.Second)
	}
}

// TestLifeline closes the supervisor's end of the pipe, as the kernel does when
// the supervisor is killed.
func TestLifeline(t *testing.T) {
	group, deaths := newGroup(t)
	defer group.Stop(time.Second)
	for range 2 {
		if err := group.Start(spec(t, "stubborn", Server)); err != nil {
			t.Fatal(err)
		}
	}
	_ = group.lifeline.Close()
	for range 2 {
		select {
		case <-deaths:
		case <-time.After(time.Minute):
			t.Fatal("a component outlives its supervisor")
		}
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(tail(path), "\n")
	if len(lines) != tailLines || lines[len(lines)-1] != "  line 4999" {
		t.Errorf("got %d lines up to %q", len(lines), lines[len(lines)-1])
	}
	if got := tail(path + "x"); !strings.Contains(got, "no such file") {
		t.Errorf("got %q", got)
	}
}
