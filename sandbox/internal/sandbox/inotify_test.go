// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

func TestTooFewInstancesOfInotifyAreNamed(t *testing.T) {
	if err := enoughInotify(34, 34, 2); err != nil {
		t.Error(err)
	}
	err := enoughInotify(3, 34, 2)
	if !options.IsInvalid(err) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"2 real nodes", "need 34 instances", "only 3 are left", "sysctl -w fs.inotify.max_user_instances"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %q", err, want)
		}
	}
}
