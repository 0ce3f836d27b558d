// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// afterAnother makes what another extension for the same type leaves to Trellis: a
// Network that it has carried out, a ManagedResource of the same name, and a Secret
// as a chart is put into.
func afterAnother(t *testing.T) (*controlPlane, *corev1.Secret) {
	t.Helper()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace())
	p.trellis.stop()
	agent := daemonSet(p.namespace, &exampleConfig{Mode: "first"})
	agent.Spec.Template.Spec.Containers[0].Env[0].Value = "theirs"
	var documents []byte
	for _, object := range []client.Object{configMap(p.namespace, "mode", "theirs"), configMap(p.namespace, "relic", "theirs"), agent} {
		document, err := yaml.Marshal(object)
		p.Expect(err).NotTo(HaveOccurred())
		documents = append(append(documents, "---\n"...), document...)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "managedresource-example-config"},
		Data:       map[string][]byte{"config.yaml": documents},
	}
	p.Expect(in.client.Create(t.Context(), secret)).To(Succeed())
	p.Expect(in.client.Create(t.Context(), &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "example-config", Labels: map[string]string{"origin": "another"}},
		Spec: resourcesv1alpha1.ManagedResourceSpec{
			SecretRefs:   []corev1.LocalObjectReference{{Name: secret.Name}},
			InjectLabels: map[string]string{"shoot.gardener.cloud/no-cleanup": "true"},
		},
	})).To(Succeed())
	p.Eventually(p.resources.Applied).Should(HaveLen(1))
	p.deploys()
	p.edit(func(n *extensionsv1alpha1.Network) {
		n.Finalizers = []string{"extensions.gardener.cloud/network"}
		delete(n.Annotations, "gardener.cloud/operation")
	})
	return p, secret
}

// Trellis takes over the network of another extension, with what that has in the
// shoot: what it shares with Trellis' network is kept and changed, what it does not
// goes.
func TestAnotherExtensionsNetworkIsTakenOver(t *testing.T) {
	t.Parallel()
	p, _ := afterAnother(t)
	agent := inShoot(p, daemonSet(p.namespace, &exampleConfig{}))
	p.start()
	p.deploys()
	p.ready()
	p.Expect(p.mode()).To(Equal("first"))
	p.Expect(p.isGone(p.shoot.client, configMap(p.namespace, "relic", ""))).To(BeTrue())
	p.Expect(inShoot(p, daemonSet(p.namespace, &exampleConfig{})).UID).To(Equal(agent.UID))
	isDeleted(p)
}

// Gardener's garbage collector deletes the Secret that the other extension used. It finds
// it by a label.
func TestAnotherExtensionsSecretIsCollected(t *testing.T) {
	Shows(t, "L6")
	t.Parallel()
	p, secret := afterAnother(t)
	p.start()
	p.deploys()
	p.ready()
	p.Expect(collectable(p, secret)).To(BeTrue())
}

// With a ManagedResource go the Secrets that it refers to, no matter what their names are.
func TestAnotherExtensionsSecretIsDeleted(t *testing.T) {
	Shows(t, "L7")
	t.Parallel()
	p, secret := afterAnother(t)
	p.start()
	isDeleted(p)
	p.Expect(collectable(p, secret)).To(BeTrue())
}

// collectable reports whether a Secret is gone, or will be in the end.
func collectable(p *controlPlane, secret *corev1.Secret) bool {
	if p.isGone(p.seed.client, secret) {
		return true
	}
	p.Expect(p.seed.client.Get(context.Background(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	return secret.Labels[resourcesv1alpha1.GarbageCollectable] == "true"
}
