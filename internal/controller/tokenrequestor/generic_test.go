// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// The generic kubeconfig leads to the shoot, has nobody's credentials, and is found
// by the Cluster's annotation. Another way to the shoot gives another one.
func TestTheGenericKubeconfig(t *testing.T) {
	e := newEnv(t)
	object := runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"X"}`)}
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: e.namespace, Annotations: map[string]string{"theirs": "yes"}}}
	cluster.Spec.CloudProfile, cluster.Spec.Shoot = object, object
	e.Expect(e.seed.Create(e.ctx, cluster)).To(Succeed())
	e.operator(t)
	name := func() string {
		e.Expect(e.seed.Get(e.ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		return cluster.Annotations[resourcesv1alpha1.GenericKubeconfigName]
	}
	e.Eventually(name).Should(MatchRegexp(`^generic-token-kubeconfig-[0-9a-f]{8}$`))
	e.Expect(cluster.Annotations).To(HaveKeyWithValue("theirs", "yes"))

	first := name()
	secret := e.read(e.seed, first)
	e.Expect(*secret.Immutable).To(BeTrue())
	e.Expect(secret.Labels).To(HaveKeyWithValue(resourcesv1alpha1.GarbageCollectable, "true"))
	made, err := clientcmd.Load(secret.Data[keyKubeconfig])
	e.Expect(err).NotTo(HaveOccurred())
	access, err := clientcmd.Load(e.kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	current := made.Contexts[made.CurrentContext]
	given := access.Clusters[access.Contexts[access.CurrentContext].Cluster]
	e.Expect(made.Clusters[current.Cluster].Server).To(Equal(given.Server))
	e.Expect(made.Clusters[current.Cluster].CertificateAuthorityData).To(Equal(given.CertificateAuthorityData))
	e.Expect(made.AuthInfos).To(HaveLen(1))
	user := made.AuthInfos[current.AuthInfo]
	e.Expect(user.TokenFile).To(Equal("/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/token"))
	e.Expect(user.Token).To(BeEmpty())
	e.Expect(user.ClientKeyData).To(BeEmpty())

	e.Expect(e.seed.Delete(e.ctx, secret)).To(Succeed())
	e.Eventually(func() string { return e.read(e.seed, first).Name }).Should(Equal(first), "it comes back")

	e.grant(bytes.ReplaceAll(e.kubeconfig, []byte(given.Server), []byte("https://elsewhere.example")))
	e.Eventually(name).ShouldNot(Equal(first))
	e.Expect(string(e.read(e.seed, name()).Data[keyKubeconfig])).To(ContainSubstring("https://elsewhere.example"))

	e.grant([]byte("nonsense"))
	e.grant(e.kubeconfig)
	e.Eventually(name).Should(Equal(first))
	e.Expect(e.seed.Delete(e.ctx, cluster)).To(Succeed())
}
