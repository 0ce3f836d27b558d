// SPDX-License-Identifier: Apache-2.0

package components

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// kubeProxy is the key of kube-proxy among the components. It is not part of a network, so it has
// no influence on the condition.
const kubeProxy = extensionsv1alpha1.KubeProxyComponent

// ofKubeProxy are the labels of kube-proxy's pods: Kubernetes' own, and Gardener's.
var ofKubeProxy = []labels.Set{{"k8s-app": "kube-proxy"}, {"app": "kubernetes", "role": "proxy"}}

// addKubeProxy adds whether kube-proxy runs wherever it must, as its DaemonSets in the cache tell:
// Gardener makes one for each pool of workers. Of several that are unhealthy the first by name is
// described. Without any, or if they cannot be read, nothing is told. The cache has managed objects
// only, as those of Gardener are.
func (o *observation) addKubeProxy(ctx context.Context, cached client.Reader, components []plugin.Component) {
	isDaemonSet := func(c plugin.Component) bool { return c.Kind == "DaemonSet" }
	if _, isNetworks := o.components[kubeProxy]; isNetworks || !slices.ContainsFunc(components, isDaemonSet) {
		return // without a DaemonSet of the network the kind is not watched
	}
	list := &appsv1.DaemonSetList{}
	if err := cached.List(ctx, list, client.InNamespace(metav1.NamespaceSystem), client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	daemonSets := slices.DeleteFunc(list.Items, func(d appsv1.DaemonSet) bool { return !isKubeProxy(&d) })
	slices.SortFunc(daemonSets, func(a, b appsv1.DaemonSet) int { return cmp.Compare(a.Name, b.Name) })
	for i := range daemonSets {
		seen := checkDaemonSet(&daemonSets[i])
		o.components[kubeProxy] = seen.healthy
		if !seen.healthy {
			o.message += fmt.Sprintf("; %s, which is not part of the network: %s", kubeProxy, seen.summary)
			return
		}
	}
}

// isKubeProxy reports whether the pods of a DaemonSet are those of kube-proxy.
func isKubeProxy(d *appsv1.DaemonSet) bool {
	return d.Spec.Selector != nil && slices.ContainsFunc(ofKubeProxy, func(wanted labels.Set) bool {
		return labels.SelectorFromSet(wanted).Matches(labels.Set(d.Spec.Selector.MatchLabels))
	})
}
