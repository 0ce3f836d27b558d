// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// reminder is how often lock prints that it waits for another build.
const reminder = 10 * time.Second

// lock waits until no other build uses the cache. The kernel releases the lock when
// the process ends, even by SIGKILL.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	started, reminded := time.Now(), time.Time{}
	for ; ; time.Sleep(100 * time.Millisecond) {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return func() { _ = file.Close() }, nil
		}
		if ctx.Err() != nil {
			_ = file.Close()
			return nil, context.Cause(ctx)
		}
		if time.Since(reminded) > reminder {
			reminded = time.Now()
			fmt.Fprintf(os.Stderr, "sandbox: another build is running; waiting for %s\n", time.Since(started).Round(time.Second))
		}
	}
}
