// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

func TestAMissingKubeconfigIsAskedFor(t *testing.T) {
	e := setup(t)
	s := e.shoot()
	e.becomes(s, create, failing, "Secret "+e.project+"/example.kubeconfig does not exist", "under the key kubeconfig")
	e.Expect(s.Status.LastErrors[0].Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
	e.kubeconfig(kubeconfig)
	e.becomes(s, create, processing, "Waiting until the Network")
}

func TestUnusableKubeconfigsAreRefused(t *testing.T) {
	e := setup(t)
	s := e.shoot()
	for name, test := range map[string]struct{ content, wanted string }{
		"nothing":           {"", "nothing under the key kubeconfig"},
		"something else":    {"no kubeconfig", "not a kubeconfig"},
		"no clusters":       {`{"apiVersion":"v1","kind":"Config"}`, "names no cluster"},
		"a program to run":  {strings.Replace(kubeconfig, `"token":"secret"`, `"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"id"}`, 1), "credential plugin"},
		"a file of our own": {strings.Replace(kubeconfig, `"token":"secret"`, `"tokenFile":"/var/run/secrets/token"`, 1), "files"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &env{WithT: NewWithT(t), t: t, client: e.client, project: e.project}
			e.kubeconfig(test.content)
			e.becomes(s, create, failing, "Secret "+e.project+"/example.kubeconfig", test.wanted)
			e.Expect(s.Status.LastOperation.Description).NotTo(ContainSubstring("secret\""), "kubeconfigs are not quoted")
		})
	}
}

// A kubeconfig may have names as long as itself.
func TestALongErrorOfAKubeconfigIsCut(t *testing.T) {
	e := setup(t)
	s := e.shoot()
	long := strings.Repeat("x", 100_000)
	e.kubeconfig(fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://api.example.org"}}],"users":[{"name":%q,"user":{"tokenFile":"t"}}]}`, long))
	e.becomes(s, create, failing, "kubeconfig's user")
	e.Expect(len(s.Status.LastOperation.Description)).To(BeNumerically("<=", condition.MaxMessage))
	e.Expect(len(s.Status.LastErrors[0].Description)).To(BeNumerically("<=", condition.MaxMessage))
}

func TestANewKubeconfigIsTakenOver(t *testing.T) {
	e := setup(t)
	s := e.finished()
	rotated := strings.Replace(kubeconfig, "api.example.example.org", "[2001:db8::1]:6443", 1)
	secret := e.kubeconfig(rotated)
	access := e.access()
	e.Eventually(func() string { e.get(access); return string(access.Data["kubeconfig"]) }).Should(Equal(rotated))
	e.Expect(access.Annotations).To(HaveKeyWithValue("trellis.network/copy-of", e.project+"/example.kubeconfig"),
		"an error about the copy names the Secret that the user must correct")
	cluster := e.cluster()
	e.Eventually(func() string {
		e.get(cluster)
		return cluster.Annotations[extensionsv1alpha1.APIServerAnnotation]
	}).Should(Equal("[2001:db8::1]:6443"))

	overwritten := access.DeepCopy()
	overwritten.Data["kubeconfig"] = []byte("overwritten")
	e.Expect(e.client.Patch(t.Context(), overwritten, client.MergeFrom(access))).To(Succeed())
	e.Eventually(func() string { e.get(access); return string(access.Data["kubeconfig"]) }).Should(Equal(rotated))

	e.Expect(e.client.Delete(t.Context(), secret)).To(Succeed())
	e.becomes(s, reconcile, failing, "does not exist")
	e.get(access)
	e.Expect(string(access.Data["kubeconfig"])).To(Equal(rotated), "the last one known stays in use")
}
