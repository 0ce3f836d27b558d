// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"net"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/shootclient"
)

func (e *env) setKubeconfig(kubeconfig []byte) {
	e.t.Helper()
	secret := &corev1.Secret{}
	e.Expect(e.seed.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: shootclient.SecretName}, secret)).To(Succeed())
	secret.Data[shootclient.SecretKey] = kubeconfig
	e.Expect(e.seed.Update(e.ctx, secret)).To(Succeed())
}

// The conditions report a shoot that the operator cannot reach, and claim nothing about
// its objects. The operator tries a new kubeconfig at once.
func TestUnreachableShoot(t *testing.T) {
	e := newEnv(t)
	cm := e.configMap("one")
	e.state("network", cm)
	e.operator()
	e.becomesGood("network")

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	e.Expect(err).NotTo(HaveOccurred())
	address := closed.Addr().String()
	_ = closed.Close()
	e.setKubeconfig(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"https://%s"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"users":[{"name":"u","user":{"token":"t"}}]}`, address))
	e.Eventually(e.conditions("network")).Should(Equal(map[string]string{
		"ResourcesApplied":     "False ApplyFailed",
		"ResourcesHealthy":     "Unknown HealthCheckError",
		"ResourcesProgressing": "Unknown HealthCheckError",
	}))
	e.Expect(e.message("network", "ResourcesApplied")()).To(
		HavePrefix("the shoot's API server https://%s cannot be reached: ", address))

	e.setKubeconfig([]byte("nonsense"))
	e.Eventually(e.message("network", "ResourcesApplied")).Should(
		HavePrefix("there is no access to the shoot: Secret %s/gardener: the value of key kubeconfig is not a kubeconfig", e.namespace))

	e.setKubeconfig(e.shoot.Kubeconfig)
	e.becomesGood("network")
}
