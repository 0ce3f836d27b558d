// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/contract"
)

// refuseInShoot fails all requests of one method to the shoot.
func (e *env) refuseInShoot(method string) {
	e.refuse(func(cluster string, request *http.Request) error {
		if cluster == "shoot" && request.Method == method {
			return errors.New("refused by the test")
		}
		return nil
	})
}

// Each failure has its own reason, and a later attempt overcomes it.
func TestDeletionsThatFail(t *testing.T) {
	contract.Shows(t, "R31")
	e := newEnv(t)
	one, two := e.configMap("one"), e.configMap("two")
	e.state("network", one, two)
	e.operator()
	e.becomesGood("network")
	e.refuseInShoot(http.MethodDelete)
	e.state("network", one)
	e.Eventually(e.conditions("network")).Should(And(
		HaveKeyWithValue("ResourcesApplied", "False DeletionFailed"), HaveKeyWithValue("ResourcesHealthy", "Unknown ChecksPending")))
	e.Expect(e.message("network", "ResourcesApplied")()).To(And(
		HavePrefix("delete ConfigMap "+e.namespace+"/two: "), ContainSubstring("refused by the test")))
	e.refuse(nil)
	e.becomesGood("network")

	e.refuseInShoot(http.MethodDelete)
	mr := e.get("network")
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.Eventually(e.conditions("network")).Should(And(
		HaveKeyWithValue("ResourcesApplied", "False DeletionFailed"), HaveKeyWithValue("ResourcesHealthy", "False DeletionPending"),
		HaveKeyWithValue("ResourcesProgressing", "True DeletionPending")))
	e.refuse(nil)
	e.isGone(mr)
}
