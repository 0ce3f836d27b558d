// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/slots"
)

// hibernates states in the Cluster whether the shoot is hibernated.
func (e *env) hibernates(hibernated bool) {
	e.t.Helper()
	shoot := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "garden-dev"}}
	shoot.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: &hibernated}
	e.seed.PutShoot(e.t, e.namespace, shoot)
}

// A hibernated shoot is left alone: the operator sends it no request. What was applied before
// is still reported as applied; what was not is reported as that, and applied as soon as the
// shoot wakes up.
func TestAHibernatedShootIsLeftAlone(t *testing.T) {
	e := newEnv(t)
	before, asleep := e.configMap("before"), e.configMap("asleep")
	e.state("before", before)
	e.operator(func(o *Options) { o.SyncPeriod = 100 * time.Millisecond })
	e.becomesGood("before")

	e.hibernates(true)
	e.state("asleep", asleep)
	e.Eventually(e.message("asleep", "ResourcesApplied")).Should(Equal("the shoot is hibernated; its objects are applied once it wakes up"))
	e.Eventually(e.conditions("asleep")).Should(HaveKeyWithValue("ResourcesHealthy", "Unknown HealthCheckError"))
	e.audit.shoot.Forget()
	e.Consistently(e.audit.shoot.Sent).WithTimeout(time.Second).Should(BeEmpty())
	e.Expect(e.conditions("before")()).To(HaveKeyWithValue("ResourcesApplied", "True ApplySucceeded"))

	e.hibernates(false)
	e.becomesGood("asleep")
	e.Expect(e.exists(asleep)()).To(BeTrue())
}

// A hibernated shoot whose API server answers can be deleted.
func TestObjectsAreDeletedFromAHibernatedShoot(t *testing.T) {
	e := newEnv(t)
	cm := e.configMap("one")
	mr := e.state("network", cm)
	e.operator()
	e.becomesGood("network")
	e.hibernates(true)
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
	e.Expect(e.exists(cm)()).To(BeFalse())
}

// forgetting records which shoots are closed.
type forgetting struct {
	Shoots
	forgotten []string
}

// Forget implements Shoots.
func (f *forgetting) Forget(namespace string) { f.forgotten = append(f.forgotten, namespace) }

// Its watches and connections end, too.
func TestTheAccessToAHibernatedShootEnds(t *testing.T) {
	e := newEnv(t)
	shoots := &forgetting{}
	r := &Reconciler{client: e.seed, options: Options{Shoots: shoots}, slots: slots.New(slots.For(1))}
	for _, hibernated := range []bool{false, true} {
		e.hibernates(hibernated)
		e.Expect(shoots.forgotten).To(BeEmpty())
		ended := r.awaitWakeUp(t.Context(), &run{mr: e.state("network"), unchanged: true})
		e.Expect(ended.Continues()).To(Equal(!hibernated))
	}
	e.Expect(shoots.forgotten).To(Equal([]string{e.namespace}))
}
