// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"testing"

	"github.com/trellis-network/trellis/test/remnants"
)

func TestAKilledTestLeavesNothingBehind(t *testing.T) {
	needNodes(t)
	remnants.AfterKill(t, nil, func() {
		c := newCluster(t, "", dualStack, oneSegment)
		newPod(c.a, "one")
		newPod(c.b, "two")
	})
}
