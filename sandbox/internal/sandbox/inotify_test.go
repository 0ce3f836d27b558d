// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/needs"
	"github.com/trellis-network/trellis/sandbox/internal/options"
)

func TestTooFewInstancesOfInotifyAreNamed(t *testing.T) {
	planned := needs.Counts{Sandboxes: 1, Shoots: 1, RealNodes: 2}
	if err := enoughInotify(planned, 29); err != nil {
		t.Error(err)
	}
	err := enoughInotify(planned, 3)
	if !options.IsInvalid(err) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"real nodes: 2", "takes 29", "only 3 instances", "sysctl -w fs.inotify.max_user_instances"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %q", err, want)
		}
	}
}
