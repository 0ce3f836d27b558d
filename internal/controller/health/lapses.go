// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// lapses remembers since when networks are not known to be healthy. A condition tells
// only since when its present status holds, and that changes each time a network cannot
// be seen. After a restart that time is what there is.
type lapses struct {
	lock      sync.Mutex
	byNetwork map[types.NamespacedName]time.Time
}

// note takes down what a look at a network means for that. before is the condition that
// the network had, nil for a new one.
func (l *lapses) note(network *extensionsv1alpha1.Network, before *corev1beta1.Condition, seen result, now time.Time) {
	key := client.ObjectKeyFromObject(network)
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.byNetwork == nil {
		l.byNetwork = map[types.NamespacedName]time.Time{}
	}
	_, lasts := l.byNetwork[key]
	switch {
	case seen == healthy:
		delete(l.byNetwork, key)
	case before == nil, !lasts && before.Status == corev1beta1.ConditionTrue:
		l.byNetwork[key] = now
	case !lasts:
		l.byNetwork[key] = before.LastTransitionTime.Time
	}
}

// since is when a network was known to be healthy last.
func (l *lapses) since(network *extensionsv1alpha1.Network) time.Time {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.byNetwork[client.ObjectKeyFromObject(network)]
}

// forget forgets a network that is gone.
func (l *lapses) forget(key types.NamespacedName) {
	l.lock.Lock()
	defer l.lock.Unlock()
	delete(l.byNetwork, key)
}
