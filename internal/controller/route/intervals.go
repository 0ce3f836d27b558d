// SPDX-License-Identifier: Apache-2.0

package route

import "time"

const (
	// batchPeriod is how long further events are awaited after a node has changed: nodes come in
	// groups.
	batchPeriod = time.Second
	// pause is the least time between two passes over one cluster, so that nodes which come and go all
	// the time cost the infrastructure no more requests. It is also how soon a change is looked at.
	pause = 2 * time.Second
	// passTimeout limits one pass. What is left is done in the next one.
	passTimeout = 2 * time.Minute
	// While the infrastructure fails, it is asked again after firstRetry, then after twice that, up to
	// lastRetry.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
	// maxAge is how long ago a shoot may have answered last: while it hangs, its cache shows nodes
	// that may be gone.
	maxAge = 15 * time.Second
)
