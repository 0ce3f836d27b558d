// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"testing"

	"github.com/trellis-network/trellis/test/remnants"
)

func TestAKilledTestLeavesNothingBehind(t *testing.T) {
	needRealNodes(t)
	remnants.AfterKill(t, []string{"-realnodes"}, func() {
		l := newLandscape(t, 2)
		l.awaitRollout(0)
		l.servers("node-1", "node-2")
	})
}
