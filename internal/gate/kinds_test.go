// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/gate"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
)

// oneShoot is access to one cluster.
type oneShoot struct{ client.Client }

func (s oneShoot) For(context.Context, string) (*shootclient.Shoot, error) {
	return &shootclient.Shoot{Client: s.Client}, nil
}

func (oneShoot) Declare(...shootclient.Watch) {}

// While a network knows only the pods of its own nodes, every policy would cut off others, also one of a landscape. Only
// those that belong to one of the two networks are known to do no harm.
func TestPoliciesThatWouldCutOffPodsKeepTheType(t *testing.T) {
	kind := networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	own := types.NamespacedName{Namespace: "kube-system", Name: "own"}
	policy := func(name string) client.Object {
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
			Namespace: own.Namespace, Name: name, Labels: map[string]string{resourcesv1alpha1.ManagedBy: "gardener"},
		}}
	}
	for name, test := range map[string]struct {
		knows  string
		has    []client.Object
		closed string
	}{
		"the networks' own":             {"weave", []client.Object{policy("own")}, ""},
		"one of the landscape":          {"weave", []client.Object{policy("own"), policy("theirs")}, "the cluster has the NetworkPolicy kube-system/theirs of the group networking.k8s.io: until all nodes have changed, weave knows only pods on nodes that have it, and policies would cut off all others: delete it until the type has changed, or write type tin again"},
		"where all pods are known":      {"", []client.Object{policy("theirs")}, ""},
		"a kind that the shoot has not": {"weave", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			exchange := &pipeline.Exchange{From: "tin", KnowsOwnPodsOnly: test.knows, Kinds: []schema.GroupVersionKind{kind}, Own: []pipeline.Named{{GroupKind: kind.GroupKind(), NamespacedName: own}}}
			shoot := oneShoot{fake.NewClientBuilder().WithObjects(test.has...).Build()}
			verdict, err := gate.Kinds{Shoots: shoot}.Check(t.Context(), gate.Plan{Network: &extensionsv1alpha1.Network{}, Shoot: &corev1beta1.Shoot{}, Exchange: exchange})
			g.Expect(err).NotTo(HaveOccurred())
			if test.closed == "" {
				g.Expect(verdict.Closed).NotTo(HaveOccurred())
			} else {
				g.Expect(verdict.Closed).To(MatchError(ContainSubstring(test.closed)))
			}
		})
	}
}
