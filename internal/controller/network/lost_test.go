// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
)

// secret is the one that the Network's ManagedResource refers to.
func (e *env) secret() *corev1.Secret {
	e.t.Helper()
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: e.managedResource().Spec.SecretRefs[0].Name}}
}

// isBack waits until a Secret that was deleted is there again.
func (e *env) isBack(secret *corev1.Secret) {
	e.t.Helper()
	e.Eventually(func() error { return e.client.Get(e.t.Context(), keyOf(secret), secret) }).Should(Succeed())
}

// The Secret of a bundle that a user has deleted is put back at once, without a request.
// That is no operation.
func TestADeletedSecretIsPutBack(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		secret := e.secret()
		e.Expect(e.client.Delete(t.Context(), secret)).To(Succeed())
		e.isBack(secret)

		e.stop()
		e.Expect(e.client.Delete(t.Context(), secret)).To(Succeed())
		e.restart()
		e.isBack(secret)
		e.get(n)
		e.Expect(n.Status.LastOperation.Type).To(Equal(create))
		e.Expect(n.Status.LastOperation.State).To(Equal(fine))
	})
}

// Gardener's garbage collector may find a Secret unused just before its content comes back,
// and delete it just after Trellis found it to be there already.
func TestAGarbageCollectorThatComesBetweenCostsNoBundle(t *testing.T) {
	e := setup(t, inGardener)
	asked := asking(extensionsv1alpha1.OperationReconcile)
	n := e.finished(asked)
	former := e.secret()
	turn := func(config string, generation int64) {
		e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(config)(n); asked(n) })
		e.Eventually(func() int64 { return e.managedResource().Generation }).Should(Equal(generation))
	}
	turn(`{"backend":"none"}`, 2)
	e.applied()
	e.becomes(n, again, fine)

	collected := make(chan error, 1)
	e.requests.After(func(answered harness.Request) error {
		if answered.Method == http.MethodPost && strings.HasSuffix(answered.Path, "/secrets") && answered.Code == http.StatusConflict && len(collected) == 0 {
			collected <- e.client.Delete(t.Context(), former)
		}
		return nil
	})
	turn(`{}`, 3)
	e.Eventually(collected).Should(Receive(BeNil()))
	e.Expect(e.secret().Name).To(Equal(former.Name))
	e.isBack(former)
	e.applied()
	e.becomes(n, corev1beta1.LastOperationTypeReconcile, fine)
}

// The API server may store an error without an answer, and the cache may not show it yet when the
// next run succeeds.
func TestASuccessRemovesAnErrorThatTheCacheDoesNotShow(t *testing.T) {
	e := setup(t)
	e.hibernated(true) // nothing is awaited, so that one run writes and succeeds
	var once sync.Once
	e.requests.Before(func(request *http.Request) error {
		if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/managedresources") {
			once.Do(func() {
				n := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "example"}}
				harness.ChangeStatus(t, e.client, n, func(n *extensionsv1alpha1.Network) {
					n.Status.LastError = &corev1beta1.LastError{Description: "stored without an answer"}
				})
			})
		}
		return nil
	})
	n := e.network()
	e.becomes(n, create, fine)
	e.get(n)
	e.Expect(n.Status.LastError).To(BeNil())
}
