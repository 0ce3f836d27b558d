// SPDX-License-Identifier: Apache-2.0

package network

import "time"

// How often a Network is reconciled, and how long each part may take.
const (
	// defaultTimeout bounds how long one reconciliation takes (N33), and how long it awaits
	// a ManagedResource before that is an error. It is for tests: the operator sets
	// controllers.network.reconciliationTimeout, whose default is in api/config.
	defaultTimeout = 3 * time.Minute
	// failingFor is how long the resource manager may fail before the Network reports an
	// error. Short failures are normal while a shoot starts.
	failingFor = 2 * time.Minute
	// A failed reconciliation is repeated after minRetry, then after twice that, up to
	// maxRetry.
	minRetry = 200 * time.Millisecond
	maxRetry = time.Minute
	// statusTimeout bounds the requests that report the outcome, for which there is time
	// even when the reconciliation has used up its own.
	statusTimeout = 10 * time.Second
	// nodesTimeout bounds the time for reading the number of nodes, which a roll-out can do
	// without.
	nodesTimeout = 5 * time.Second
	// slowAfter is how long a run takes whose cluster counts as slow. Only a cluster that hangs
	// makes a run as long, since a run waits for nothing else outside the seed: a first contact
	// may take 3 s, and everything after it longer.
	slowAfter = 2 * time.Second
	// nodesMaxAge is how long ago a shoot may have answered last before its nodes decide
	// about a write: while it hangs, its cache keeps what it had.
	nodesMaxAge = 10 * time.Second

	// clusterLag is how long a Network may be there without its Cluster before users are told
	// that it waits: a client may create one after the other.
	clusterLag = 3 * time.Second
	// takenWithin is how long other operators get to take a Network of a type that has no
	// plugin here. controller/shoot may have waited for them before, and users are told within
	// a minute.
	takenWithin = 30 * time.Second

	// askedAgain is how often a Network asks whether it may be updated. Usually it is told.
	askedAgain = time.Minute

	// cacheLag is how long the cache may be behind what was just written.
	cacheLag = 50 * time.Millisecond
	// maxLooks bounds how often a run waits for the cache to show a bundle that was written:
	// it may have been deleted since.
	maxLooks = 20
	// maxLooksAtNetwork bounds the same for the Network itself: after a minute, the seed may
	// have been restored from a backup that is older.
	maxLooksAtNetwork = 1200
)
