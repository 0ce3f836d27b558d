// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// When a ManagedResource is reconciled again, and how long each part may take.
const (
	// defaultSyncPeriod is how often a ManagedResource is reconciled without an event. It is
	// for tests: the operator sets controllers.managedResource.syncPeriod, whose default is in
	// api/config.
	defaultSyncPeriod = time.Minute
	// defaultDeletionInterval is how often objects that are being deleted are read.
	defaultDeletionInterval = 5 * time.Second
	// minTimeout bounds the time of one reconciliation; with a longer sync period that does.
	minTimeout = time.Minute
	// After an error, a reconciliation is repeated after firstRetry, then after twice that, up
	// to lastRetry.
	firstRetry = 200 * time.Millisecond
	lastRetry  = time.Minute
	// forgottenAfter is when the corrections of an object that stays as it is count no more.
	forgottenAfter = 2 * lastRetry
	// quietPeriod is how long the conditions stay as they are when only messages are new: a
	// cluster may answer with another one each time.
	quietPeriod = time.Minute
	// maxRecreations is how many objects that are deleted to be created again are told at once,
	// each in a run of its own; after that there is one more each quietPeriod.
	maxRecreations = 10
	// statusGatherTime is how long changes of objects' statuses are gathered.
	statusGatherTime = time.Second
	// deletionGatherTime is how long ends of objects are gathered while all are being deleted, at
	// most quickDeletions times, and after that once in statusGatherTime.
	deletionGatherTime = 100 * time.Millisecond
	quickDeletions     = 100
	// cacheLag is the time that the shoot's cache gets to show what was applied.
	cacheLag = time.Second
	// absentFor is how long a kind that the cluster lacks is not asked about again.
	absentFor = 10 * time.Second
	// establishTimeout is how long a CRD may take to be served, before its custom resources are
	// applied.
	establishTimeout = 10 * time.Second
)

// establishBackoff has the times between checks whether a CRD is served: short at first, since
// most are within half a second, and long for a cluster that never serves it, since a check may
// be a request.
var establishBackoff = wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.1, Cap: 500 * time.Millisecond, Steps: math.MaxInt32}
