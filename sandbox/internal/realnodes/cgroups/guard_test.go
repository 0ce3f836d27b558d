// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"strings"
	"testing"
	"time"
)

// The process is killed while another one is in its cgroup, and that ends a moment later, as the
// processes of a node do.
func TestTheCgroupsOfAKilledProcessAreRemoved(t *testing.T) {
	needsRoot(t)
	name, err := Name()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Remove(name) })
	killed, _ := enterInChild(t, name+"/node-1", guarded+"="+name)
	other, _ := enterInChild(t, name+"/node-2")
	_ = killed.Process.Kill()
	_ = killed.Wait()
	if len(directories(t, name)) == 0 {
		t.Error("there were no cgroups, so this shows nothing")
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	awaitNone(t, name)
}

func TestAReleasedGuardHasRemovedItsCgroups(t *testing.T) {
	needsRoot(t)
	name, err := Name()
	if err != nil {
		t.Fatal(err)
	}
	guard, err := NewGuard(name, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	child, _ := enterInChild(t, name+"/node-1")
	_ = child.Process.Kill()
	if err := guard.Release(); err != nil {
		t.Error(err)
	}
	if left := directories(t, name); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestAGuardThatIsKilledSaysSo(t *testing.T) {
	needsRoot(t)
	name, err := Name()
	if err != nil {
		t.Fatal(err)
	}
	died := make(chan error, 1)
	guard, err := NewGuard(name, func(err error) { died <- err })
	if err != nil {
		t.Fatal(err)
	}
	_ = guard.watcher.Process.Kill()
	if err := <-died; !strings.Contains(err.Error(), "guards the cgroups has ended: signal: killed") {
		t.Error(err)
	}
	if err := guard.Release(); err != nil {
		t.Error(err)
	}
}

func awaitNone(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(interval) {
		left := directories(t, name)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v is left", left)
		}
	}
}
