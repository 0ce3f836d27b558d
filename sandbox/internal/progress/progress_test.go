// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"errors"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	var out strings.Builder
	log := NewLog(&out)
	defer log.Close()
	first, second := log.Begin("seed: %s", "API server"), log.Begin("etcd")
	first.Status("connection refused")
	log.printOpen()
	if err := second.Done(nil); err != nil {
		t.Error(err)
	}
	if err := first.Done(errors.New("too late")); err == nil || err.Error() != "seed: API server: too late" {
		t.Errorf("got %v", err)
	}
	before := out.Len()
	log.printOpen()
	if out.Len() != before {
		t.Error("the log still has reminders of steps that are done")
	}
	for _, want := range []string{"seed: API server: waiting", "still waiting after 0 s (connection refused)", "etcd: ready after"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
