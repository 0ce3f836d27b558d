// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// The operator of a seed limits with a quota how many Shoots a tenant has, as
// docs/run-standalone.md says. The controller-manager of the sandbox's seed does not count
// what quotas are for, so the test reports in its place that there is no Shoot yet.
func TestAQuotaLimitsTheShootsOfANamespace(t *testing.T) {
	g, c := setup(t, "limited")
	hard := corev1.ResourceList{"count/shoots.core.gardener.cloud": resource.MustParse("1")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "shoots", Namespace: "limited"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	g.Expect(c.Create(t.Context(), quota)).To(Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{"count/shoots.core.gardener.cloud": resource.MustParse("0")}}
	g.Expect(c.Status().Update(t.Context(), quota)).To(Succeed())
	// Until the API server has seen the report, it admits Shoots without counting them.
	g.Eventually(func() error {
		return c.Create(t.Context(), &corev1beta1.Shoot{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "s-", Namespace: "limited"},
			Spec:       corev1beta1.ShootSpec{Provider: corev1beta1.Provider{Type: "local"}},
		})
	}).WithTimeout(time.Minute).Should(And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring("exceeded quota: shoots"))))
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)).To(Succeed())
	counted := quota.Status.Used["count/shoots.core.gardener.cloud"]
	g.Expect(counted.Value()).To(BeEquivalentTo(1), "one was admitted and counted")
}
