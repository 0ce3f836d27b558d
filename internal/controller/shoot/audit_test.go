// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/trellis-network/trellis/test/harness"
)

// process records the requests of the controller's process, which may die of a write.
type process struct {
	harness.Requests
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

// reset forgets all requests, and has the process die after some writes: the last of
// them is made, but the process does not hear the answer. 0 means never.
func (p *process) reset(dieAfter int64) {
	p.Forget()
	p.dead.Store(false)
	var writes atomic.Int64
	p.Before(func(*http.Request) error {
		if p.dead.Load() {
			return errDead
		}
		return nil
	})
	p.After(func(answered harness.Request) error {
		if answered.Writes() && writes.Add(1) == dieAfter {
			p.dead.Store(true)
		}
		if p.dead.Load() {
			return errDead
		}
		return nil
	})
}
