// SPDX-License-Identifier: Apache-2.0

package unanswered

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// A Network asks until its status, its annotation or its finalizer shows that an operator has taken
// up what it asks for. One that runs, and nothing else, asks for nothing.
func TestWhatANetworkAsksFor(t *testing.T) {
	type network = extensionsv1alpha1.Network
	deleted := func(n *network) { n.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	held := func(n *network) { n.Finalizers = []string{extensionsv1alpha1.NetworkFinalizer} }
	edited := func(n *network) { n.Generation++ }
	asking := func(operation string) func(*network) {
		return func(n *network) { n.Annotations = map[string]string{extensionsv1alpha1.OperationAnnotation: operation} }
	}
	says := func(operation corev1beta1.LastOperationType, state corev1beta1.LastOperationState) func(*network) {
		return func(n *network) { n.Status.LastOperation = &corev1beta1.LastOperation{Type: operation, State: state} }
	}
	runs, works := says("Create", "Succeeded"), says("Reconcile", "Processing")
	class := extensionsv1alpha1.ExtensionClass("seed")
	for name, c := range map[string]struct {
		is                      []func(*network)
		inLandscape, standalone bool
	}{
		"new":                         {nil, true, true},
		"of the seed itself":          {[]func(*network){func(n *network) { n.Spec.Class = &class }}, false, false},
		"waiting for its state":       {[]func(*network){asking("wait-for-state")}, false, false},
		"running":                     {[]func(*network){runs}, false, false},
		"edited":                      {[]func(*network){runs, edited}, false, true},
		"edited and taken up":         {[]func(*network){works, edited}, false, false},
		"asking to be reconciled":     {[]func(*network){runs, asking("reconcile")}, true, true},
		"asking and taken up":         {[]func(*network){works, asking("reconcile")}, false, false},
		"failing":                     {[]func(*network){says("Create", "Error")}, false, false},
		"deleted":                     {[]func(*network){runs, held, deleted}, true, true},
		"deleted before it was taken": {[]func(*network){deleted}, false, false},
		"deleted, which fails":        {[]func(*network){says("Delete", "Error"), held, deleted}, false, false},
		"asking to migrate":           {[]func(*network){runs, asking("migrate")}, true, true},
		"migrated":                    {[]func(*network){says("Migrate", "Succeeded"), asking("migrate")}, false, false},
		"asking to be restored":       {[]func(*network){asking("restore")}, true, true},
		"restored without success":    {[]func(*network){says("Restore", "Error"), asking("restore")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, n := NewWithT(t), &network{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Status: extensionsv1alpha1.NetworkStatus{}}
			n.Status.ObservedGeneration = 1
			for _, is := range c.is {
				is(n)
			}
			g.Expect(networkAsks(n, false) != "").To(Equal(c.inLandscape), "in a landscape")
			g.Expect(networkAsks(n, true) != "").To(Equal(c.standalone), "standalone")
		})
	}
}
