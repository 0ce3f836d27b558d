// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

func TestASandboxIsHandedDown(t *testing.T) {
	mine := shared.Get(t)
	file := filepath.Join(t.TempDir(), "sandbox.json")
	variable, err := mine.HandDown(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(handedDown, strings.TrimPrefix(variable, handedDown+"="))
	theirs := ShareWithRun(Options{}).Get(t)
	if theirs.PID != mine.PID || theirs.Seed.Kubeconfig != mine.Seed.Kubeconfig {
		t.Errorf("got %+v, want %+v", theirs, mine)
	}
	if err := theirs.Stop(); err != nil || mine.run.err != nil || theirs.Done() != nil {
		t.Errorf("Stop of a sandbox that was handed down: %v", err)
	}
	further := ShareWithRun(Options{Shoots: []string{"garden-dev/one"}})
	if _, err := further.start(context.Background(), further.options); err == nil || !strings.Contains(err.Error(), "has no shoot garden-dev/one") {
		t.Errorf("got %v", err)
	}
}
