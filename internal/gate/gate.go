// SPDX-License-Identifier: Apache-2.0

// Package gate decides whether the objects of a network may be written now. The network
// controller asks all gates after it has built the objects and before it writes them.
//
// A new gate is a new file here, and a line in the list of the network controller.
package gate

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
)

// Gate decides whether what was built may be written now. Gates are asked in every
// reconciliation that would write something, in their order, until one is closed.
type Gate interface {
	// Check returns the verdict on a plan. An error means that there is none: nothing is
	// written, users see the error, and the gate is asked again soon.
	Check(ctx context.Context, plan Plan) (Verdict, error)
}

// Plan is what would be written.
type Plan struct {
	Network *extensionsv1alpha1.Network
	Shoot   *corev1beta1.Shoot
	// Built has the objects, and the changes with their classes.
	Built *pipeline.Result
	// Exchange is set if the type of the network changes, also before Built has the objects of both types.
	Exchange *pipeline.Exchange
	// Present returns the objects that the shoot has now, and whether they are known: of
	// a network that comes from another seed they may not be.
	Present func(ctx context.Context) (objects []unstructured.Unstructured, known bool, err error)
}

// Verdict is the answer of a gate.
type Verdict struct {
	// Closed is why nothing may be written now, for users; nil opens the gate.
	Closed error
}

// Open lets the objects be written.
func Open() Verdict { return Verdict{} }
