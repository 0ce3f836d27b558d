// SPDX-License-Identifier: Apache-2.0

package networkstatus

import "time"

// How often Networks are observed and written, beside the settings controllers.health.
const (
	// minTimeout is the least time that the sources get to observe a Network; with a
	// longer period they get that.
	minTimeout = 30 * time.Second
	// batchPeriod is how long further events are awaited after a change in the shoot:
	// during a roll-out the status of a workload changes all the time.
	batchPeriod = time.Second
	// quietPeriod is how long a condition stays as it is when only its message changes:
	// during a roll-out the numbers in it change all the time.
	quietPeriod = 10 * time.Second
	// silence is how long a ManagedResource that no resource manager has reported on is taken for a
	// new one.
	silence = 3 * time.Minute
	// cacheLag is how long the cache may be behind what this process has written, and
	// maxChecks how often that much time is awaited. A copy that is still older after that
	// comes from an API server restored from a backup.
	cacheLag  = 50 * time.Millisecond
	maxChecks = 1200
	// While a source fails, it is asked again after minRetry, then after twice that, up to
	// maxRetry.
	minRetry = 200 * time.Millisecond
	maxRetry = time.Minute
)
