// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/outcome"
)

// otherType is the value of the label "type" for all types that no plugin serves.
const otherType = "other"

var servedTypes keyed.Map[string, struct{}]

// ServeTypes states for which types of networks there are plugins. The operator calls it
// before its controllers start.
func ServeTypes(networkTypes ...string) {
	for _, each := range networkTypes {
		servedTypes.Set(each, struct{}{})
	}
}

// typeLabel bounds the values of the label "type": users choose the types of Networks. An
// empty type stays empty, for controllers whose objects have none.
func typeLabel(networkType string) string {
	if _, served := servedTypes.Get(networkType); served || networkType == "" {
		return networkType
	}
	return otherType
}

// Reconciled records that a controller has ended a reconciliation that took as long as
// stated. networkType is empty where the object does not tell.
func Reconciled(controller, networkType string, o outcome.Outcome, took time.Duration) {
	reconciliations.WithLabelValues(controller, typeLabel(networkType), string(o.Kind())).Observe(took.Seconds())
}

// Applied records that the objects of a Network have been applied, and how long that took
// from the start of the operation.
func Applied(networkType string, took time.Duration) {
	applied.WithLabelValues(typeLabel(networkType)).Observe(took.Seconds())
}

// Bundle is the size of one bundle of a Network.
type Bundle struct {
	// Name is that of the ManagedResource.
	Name string
	// Objects is their number.
	Objects int
	// Bytes is the size of the Secret's data.
	Bytes int
}

// Bundles states which bundles are written for a Network, in place of those before.
func Bundles(network types.NamespacedName, networkType string, written ...Bundle) {
	var number, objects, bytes []sample
	for _, b := range written {
		labels := []string{typeLabel(networkType), b.Name}
		number = append(number, sample{labels, 1})
		objects = append(objects, sample{labels, float64(b.Objects)})
		bytes = append(bytes, sample{labels, float64(b.Bytes)})
	}
	key := network.String()
	bundles.set(key, number...)
	bundleObjects.set(key, objects...)
	bundleBytes.set(key, bytes...)
	bundleMostBytes.set(key, bytes...)
}

// Rollout states whether a roll-out of a Network makes no progress.
func Rollout(network types.NamespacedName, networkType string, stalled bool) {
	value := 0.0
	if stalled {
		value = 1
	}
	rolloutsStalled.set(network.String(), sample{[]string{typeLabel(networkType)}, value})
}

// ForgetNetwork removes what was stated of a Network that is gone.
func ForgetNetwork(network types.NamespacedName) {
	for _, each := range []*gauge{bundles, bundleObjects, bundleBytes, bundleMostBytes, rolloutsStalled} {
		each.forget(network.String())
	}
}

// ShootState is how a shoot answered the last request.
type ShootState string

const (
	// ShootReachable means that the shoot's API server answers.
	ShootReachable ShootState = "reachable"
	// ShootUnreachable means that it does not answer.
	ShootUnreachable ShootState = "unreachable"
	// ShootRefused means that it does not accept the credentials.
	ShootRefused ShootState = "refused"
)

// Shoot states how the shoot with its control plane in a namespace answered last.
func Shoot(namespace string, state ShootState) {
	samples := make([]sample, 0, 3)
	for _, each := range []ShootState{ShootReachable, ShootUnreachable, ShootRefused} {
		value := 0.0
		if each == state {
			value = 1
		}
		samples = append(samples, sample{[]string{string(each)}, value})
	}
	shoots.set(namespace, samples...)
}

// ForgetShoot removes what was stated of a shoot that the operator no longer has access
// to.
func ForgetShoot(namespace string) { shoots.forget(namespace) }

// ShootWrite records a request that wrote to a shoot: the verb, and the status code of
// the answer, or 0 if there was none.
func ShootWrite(verb string, status int) {
	code := "none"
	if status > 0 {
		code = fmt.Sprintf("%dxx", status/100)
	}
	shootWrites.WithLabelValues(verb, code).Inc()
}
