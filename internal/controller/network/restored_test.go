// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// restoredSeed has one Network, which another operator has taken, in an old version. It cannot
// write.
type restoredSeed struct{ client.Client }

func (restoredSeed) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	n := object.(*extensionsv1alpha1.Network)
	n.Namespace, n.Name, n.ResourceVersion, n.Spec.Type = key.Namespace, key.Name, "900", "another"
	n.Finalizers = []string{extensionsv1alpha1.NetworkFinalizer}
	return nil
}

// After a seed was restored from a backup, its versions are older than those that this process
// has written, and stay so. A cache that is late has caught up within a minute.
func TestANetworkOfARestoredSeedIsLookedAtWithinAMinute(t *testing.T) {
	g := NewWithT(t)
	built, err := pipeline.New([]plugin.Plugin{{Description: plugin.Description{Type: "example"}}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	r := newReconciler(restoredSeed{}, nil, nil, nil, Options{Pipeline: built, Timeout: time.Minute, Clock: clock.RealClock{}})
	name := client.ObjectKey{Namespace: "shoot--test--restored", Name: "example"}
	r.networks.Expect(name, "", "1000")
	waited := time.Duration(0)
	for range 10 * time.Minute / cacheLag {
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		g.Expect(err).NotTo(HaveOccurred())
		if result.RequeueAfter == 0 {
			break
		}
		g.Expect(result.RequeueAfter).To(Equal(cacheLag))
		waited += cacheLag
	}
	g.Expect(waited).To(And(BeNumerically(">", time.Second), BeNumerically("<=", time.Minute)))
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeZero(), "its version is the one to expect from then on")
}
