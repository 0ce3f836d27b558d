// SPDX-License-Identifier: Apache-2.0

package test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestANodeHasCgroupsAndFilesOfItsOwn checks, in the version of cgroups that the machine has,
// that a pod is limited, and what agents with eBPF need: a root of version 2 that is the node's
// own, to which programs can be attached, and /lib/modules. The name of the sandbox's directory
// has what options of mounts end with.
func TestANodeHasCgroupsAndFilesOfItsOwn(t *testing.T) {
	needsRealNodes(t)
	s := up(t, "--dir", filepath.Join(t.TempDir(), "one, two: three"), "--shoot=garden-dev/one", "--nodes=real:1", "--node-programs", realNodes(t).Dir)
	shoot := s.Shoots[0].Kubeconfig

	s.runPod(t, "limited", "sandbox.invalid/traffic:v1")
	s.must(t, shoot, "wait", "--for=condition=Ready", "pod/limited", "--timeout=60s")
	limit, err := s.try(shoot, "exec", "limited", "--", "cat", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
	version := 1
	if err != nil {
		limit, version = s.must(t, shoot, "exec", "limited", "--", "cat", "/sys/fs/cgroup/memory.max"), 2
	}
	t.Logf("cgroups of version %d", version)
	if limit != "67108864" {
		t.Errorf("the limit of 64 MiB of memory is %q", limit)
	}

	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || !strings.Contains(string(mounts), " - cgroup2 ") {
		t.Logf("no cgroups of version 2 are mounted on this machine (%v)", err)
	} else {
		own := strings.Fields(s.onNode(t, "node-1", "sh", "-c", "mount -t cgroup2 none /mnt && cat $(find /mnt -name cgroup.procs) && umount /mnt"))
		// The first process of the node, and none from outside, which would be 0.
		if !slices.Contains(own, "1") || slices.Contains(own, "0") {
			t.Errorf("the root of version 2 has the processes %q", own)
		}
	}

	s.onNode(t, "node-1", "sh", "-c", "ls /lib/modules && touch /usr/of-the-node")
	if !missing("/usr/of-the-node") {
		t.Error("the machine has a file that the node made in /usr")
	}
}
