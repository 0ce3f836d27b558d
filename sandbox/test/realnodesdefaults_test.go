// SPDX-License-Identifier: Apache-2.0

package test

import (
	"syscall"
	"testing"
)

// TestRealNodesNeedNoOtherFlag starts two real nodes as a user does who knows no other flag: of a
// shoot that the command names, with the programs that are in the cache, in a temporary directory.
func TestRealNodesNeedNoOtherFlag(t *testing.T) {
	needsRealNodes(t)
	before := look(t)
	s := up(t, "--nodes", "real:2")
	if len(s.Shoots) != 1 || s.Shoots[0].Namespace != "garden-dev" || s.Shoots[0].Name != "shoot-1" || len(s.Shoots[0].RealNodes) != 2 {
		t.Errorf("got %+v", s.Shoots)
	}
	s.must(t, s.Shoots[0].Kubeconfig, "get", "node", "node-1", "node-2")
	if status := s.stop(t, syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d\n%s", status, s.stderr)
	}
	nothingSince(t, before)
	if !missing(s.Dir) {
		t.Errorf("the temporary directory %s is left", s.Dir)
	}
}
