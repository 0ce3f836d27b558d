// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// writesToShoot returns what the operator wrote to the shoot.
func (e *env) writesToShoot() (writes []string) {
	for _, each := range e.audit.writes() {
		if strings.HasPrefix(each, "shoot ") {
			writes = append(writes, each)
		}
	}
	return writes
}

// Two ManagedResources state one object: the younger reports the conflict and writes no more,
// also after a restart. The object is its own once the older does not have it.
func TestTheOlderOfTwoManagedResourcesKeepsAnObject(t *testing.T) {
	e := newEnv(t)
	x := e.configMap("x", "a", "1")
	e.state("one", x)
	stop := e.operator()
	e.becomesGood("one")
	e.state("two", e.configMap("x", "a", "2"), e.configMap("y"))
	conflict := And(HavePrefix(`error during apply of object "v1/ConfigMap/`+e.namespace+`/x": `),
		HaveSuffix("it belongs to the ManagedResource one, which is older: remove it from one of the two"))
	e.Eventually(e.message("two", "ResourcesApplied")).Should(conflict)
	e.Expect(e.conditions("two")()).To(HaveKeyWithValue("ResourcesApplied", "False ApplyFailed"))
	e.becomesGood("one")
	e.Expect(live(e, x).Data).To(HaveKeyWithValue("a", "1"))

	stop()
	e.audit.reset()
	e.operator()
	e.Eventually(func() []string { return e.audit.sent("shoot GET", "/configmaps/x") }).ShouldNot(BeEmpty())
	e.Consistently(e.writesToShoot, "2s").Should(BeEmpty())
	e.Expect(e.message("two", "ResourcesApplied")()).To(conflict)

	e.state("one", e.configMap("z"))
	e.becomesGood("two")
	e.becomesGood("one")
	e.Expect(live(e, x).Data).To(HaveKeyWithValue("a", "2"))
}

// The object stays with the older when the younger is deleted.
func TestWhatBelongsToAnotherOutlivesAManagedResource(t *testing.T) {
	e := newEnv(t)
	x := e.configMap("x", "a", "1")
	e.state("one", x)
	e.operator()
	e.becomesGood("one")
	two := e.state("two", e.configMap("x", "a", "2"))
	e.Eventually(e.conditions("two")).Should(HaveKeyWithValue("ResourcesApplied", "False ApplyFailed"))
	uid := live(e, x).UID
	e.Expect(e.seed.Delete(e.ctx, two)).To(Succeed())
	e.isGone(two)
	e.Expect(live(e, x).UID).To(Equal(uid))
	e.becomesGood("one")
}

// Two Shoots have kubeconfigs of one cluster. The older is not disturbed for a moment, and
// keeps its network when the younger is deleted.
func TestTwoShootsWithOneCluster(t *testing.T) {
	for name, address := range map[string]string{"with the same address": "127.0.0.1", "with another address": "localhost"} {
		t.Run(name, func(t *testing.T) { twoShootsWithOneCluster(t, address) })
	}
}

func twoShootsWithOneCluster(t *testing.T, address string) {
	older := newEnv(t)
	x := older.configMap("x", "a", "1")
	older.state("network", x)
	younger := older.another()
	younger.seed.PutAccess(t, younger.namespace, bytes.ReplaceAll(younger.shoot.Kubeconfig, []byte("127.0.0.1"), []byte(address)))
	older.operator()
	older.becomesGood("network")
	// Of two that were created in the same second, the names would decide.
	older.Eventually(func() time.Duration { return time.Since(older.get("network").CreationTimestamp.Time) }).Should(BeNumerically(">=", time.Second))
	version := live(older, x).ResourceVersion
	mr := younger.state("network", older.configMap("x", "a", "2"))
	younger.Eventually(younger.message("network", "ResourcesApplied")).Should(ContainSubstring(
		"it belongs to the ManagedResource " + older.namespace + "/network, which is older and for the same cluster"))
	younger.Expect(younger.seed.Delete(younger.ctx, mr)).To(Succeed())
	younger.isGone(mr)
	older.Expect(live(older, x).ResourceVersion).To(Equal(version))
	older.becomesGood("network")
}

// Users of a shoot can write the origin annotation. It only counts where the ManagedResource
// that it names lives, has the object, and may be for the same cluster.
func TestOnlyAnOwnerThatHasTheObjectCounts(t *testing.T) {
	e := newEnv(t)
	elsewhere := e.another()
	x := e.configMap("x")
	ref := newReference(x)
	written := func(e *env, name string, refs ...reference) *resourcesv1alpha1.ManagedResource {
		mr := e.state(name)
		mr.Status.Resources = refs
		e.Expect(e.seed.Status().Update(e.ctx, mr)).To(Succeed())
		return mr
	}
	mr := written(e, "network", ref)
	written(e, "has", ref)
	written(e, "has-not")
	written(elsewhere, "has", ref)
	written(elsewhere, "has-not")
	deleting := written(e, "deleting", ref)
	e.edit("deleting", func(mr *resourcesv1alpha1.ManagedResource) { mr.Finalizers = []string{holder} })
	e.Expect(e.seed.Delete(e.ctx, deleting)).To(Succeed())
	defer e.edit("deleting", func(mr *resourcesv1alpha1.ManagedResource) { mr.Finalizers = nil })

	clusterAt := func(server string) shootclient.Cluster {
		return shootclient.Cluster{Server: server, Authorities: sets.New(sha256.Sum256([]byte(server)))}
	}
	clusters := &keyed.Map[string, shootclient.Cluster]{}
	o := &owners{managedResources: e.seed, mr: mr, cluster: clusterAt("https://one"), clusters: clusters}
	for _, test := range []struct {
		origin, server string
		counts         bool
	}{
		{e.namespace + "/network", "", false},
		{e.namespace + "/has", "", true},
		{e.namespace + "/has-not", "", false},
		{e.namespace + "/deleting", "", false},
		{e.namespace + "/unknown", "", false},
		{"seed:" + e.namespace + "/has", "", false},
		{"nonsense", "", false},
		{elsewhere.namespace + "/has", "", true},
		{elsewhere.namespace + "/has", "https://one", true},
		{elsewhere.namespace + "/has", "https://another", false},
		{elsewhere.namespace + "/has-not", "https://one", false},
	} {
		if clusters.Delete(elsewhere.namespace); test.server != "" {
			clusters.Set(elsewhere.namespace, clusterAt(test.server))
		}
		x.Annotations = map[string]string{resourcesv1alpha1.Origin: test.origin}
		other, err := o.other(e.ctx, identityOf(&ref), x)
		e.Expect(err).NotTo(HaveOccurred())
		e.Expect(other != nil).To(Equal(test.counts), "%+v", test)
		if other != nil {
			e.Expect(client.ObjectKeyFromObject(other).String()).To(Equal(test.origin))
		}
	}
}

// A client in the shoot changes an object again and again. Its corrections back off, the
// condition names the client, and other objects are applied meanwhile.
func TestAClientThatInsists(t *testing.T) {
	e := newEnv(t)
	x, y := e.configMap("x", "a", "1"), e.configMap("y", "b", "1")
	e.state("network", x, y)
	e.operator()
	e.becomesGood("network")
	told := HaveSuffix(`kubectl-edit has changed it more than 10 times, each time after the operator had corrected it; ` +
		`the operator now corrects it with increasing delays, up to 1m0s: stop that client from changing it`)
	insist := func() string {
		if now := live(e, x); now.Data["a"] == "1" {
			change(e, x, func(cm *corev1.ConfigMap) { cm.Data["a"] = "theirs" })
		}
		return e.message("network", "ResourcesApplied")()
	}
	e.Eventually(insist, time.Minute).Should(told)
	e.Expect(e.conditions("network")()).To(HaveKeyWithValue("ResourcesApplied", "False ApplyFailed"))

	y.Data["b"] = "2"
	e.state("network", x, y)
	e.Eventually(func() string { insist(); return live(e, y).Data["b"] }).Should(Equal("2"))
	e.Eventually(insist).Should(told)
	e.audit.reset()
	e.Consistently(insist, "2s").Should(told)
	e.Expect(len(e.writesToShoot())).To(BeNumerically("<=", 2))

	e.Eventually(func() string { return live(e, x).Data["a"] }, 2*time.Minute).Should(Equal("1"))
	e.Eventually(e.conditions("network"), 2*time.Minute).Should(Equal(good))
}

// The same goes for an object that another client deletes again and again.
func TestAClientThatDeletesAgainAndAgain(t *testing.T) {
	e := newEnv(t)
	x := e.configMap("x")
	e.state("network", x)
	e.operator()
	e.becomesGood("network")
	e.Eventually(func() string {
		_ = e.shoot.Delete(e.ctx, x.DeepCopy())
		return e.message("network", "ResourcesApplied")()
	}, time.Minute).Should(ContainSubstring("another client has changed it more than 10 times"))
	e.Eventually(e.exists(x), time.Minute).Should(BeTrue())
	e.Eventually(e.conditions("network"), 2*time.Minute).Should(Equal(good))
}
