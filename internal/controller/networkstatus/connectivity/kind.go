// SPDX-License-Identifier: Apache-2.0

package connectivity

import "time"

// kind is what is known of the kind of the reports in a shoot, and when to ask for it again. The
// zero kind has not been asked for.
type kind struct {
	// lacking is whether the shoot does not have the kind: then it has no probes.
	lacking bool
	asked   time.Time
	// pause is the time until a shoot that lacks the kind is asked for it again.
	pause time.Duration
}

// waits reports whether the kind is lacking and it is too early to ask for it again.
func (k *kind) waits(now time.Time) bool { return k.lacking && now.Sub(k.asked).Abs() < k.pause }

// absent is the kind after the shoot was found not to have it.
func (k *kind) absent(now time.Time) kind {
	pause := firstKindPeriod
	if k.lacking {
		pause = min(2*k.pause, kindPeriod)
	}
	return kind{lacking: true, asked: now, pause: pause}
}

// mayBeGone reports whether a shoot that has no reports must be asked whether it still has the
// kind, and notes that it is.
func (k *kind) mayBeGone(now time.Time) bool {
	if now.Sub(k.asked).Abs() < kindPeriod {
		return false
	}
	k.asked = now
	return true
}
