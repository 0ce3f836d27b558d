// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/trellis-network/trellis/internal/condition"
)

// maxNote is the greatest length of an event's note that the API server accepts, in bytes.
const maxNote = 1024

// Announce records an event about an object. A note that is too long is cut.
func Announce(recorder events.EventRecorder, object runtime.Object, eventType, reason, note string) {
	recorder.Eventf(object, nil, eventType, reason, "Reconcile", "%s", condition.Shorten(note, maxNote))
}
