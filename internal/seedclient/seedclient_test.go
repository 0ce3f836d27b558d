// SPDX-License-Identifier: Apache-2.0

package seedclient

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// A tenant creates as many Secrets as they like, each with a megabyte of labels.
func TestLargeMetadataOfSecretsIsNotCached(t *testing.T) {
	g := NewWithT(t)
	few, many := map[string]string{"a": "b"}, map[string]string{}
	for i := range 20_000 {
		many[fmt.Sprintf("example.com/label-%d", i)] = "x"
	}
	cached := func(kind string, labels map[string]string) *metav1.PartialObjectMetadata {
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-dev", Name: "mine", UID: "1", ResourceVersion: "2", Labels: labels}}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		transformed, err := CacheOptions().DefaultTransform(object)
		g.Expect(err).NotTo(HaveOccurred())
		return transformed.(*metav1.PartialObjectMetadata)
	}
	g.Expect(cached("Secret", few).Labels).To(Equal(few))
	g.Expect(cached("Namespace", many).Labels).To(HaveLen(len(many)), "the operator of the seed is trusted")
	large := cached("Secret", many)
	g.Expect(large.Size()).To(BeNumerically("<", 200))
	g.Expect([]string{large.Namespace, large.Name, string(large.UID), large.ResourceVersion}).To(Equal([]string{"garden-dev", "mine", "1", "2"}))
}

// A seed and a cloud profile have hundreds of kilobytes, and each Cluster has both.
func TestClustersAreCachedWithoutTheSeedAndTheCloudProfile(t *testing.T) {
	g := NewWithT(t)
	long := func(kind string) []byte {
		return fmt.Appendf(nil, `{"kind":%q,"metadata":{"name":"a"},"spec":{"regions":[{"name":"%0100000d"}]}}`, kind, 1)
	}
	cluster := &extensionsv1alpha1.Cluster{Spec: extensionsv1alpha1.ClusterSpec{
		CloudProfile: runtime.RawExtension{Raw: long("CloudProfile")}, Seed: &runtime.RawExtension{Raw: long("Seed")},
		Shoot: runtime.RawExtension{Raw: long("Shoot")},
	}}
	shoot := string(cluster.Spec.Shoot.Raw)
	_, err := CacheOptions().DefaultTransform(cluster)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(cluster.Spec.CloudProfile.Raw)).To(Equal(`{"kind":"CloudProfile","metadata":{"name":"a"},"spec":{}}`))
	g.Expect(string(cluster.Spec.Seed.Raw)).To(Equal(`{"kind":"Seed","metadata":{"name":"a"},"spec":{}}`))
	g.Expect(string(cluster.Spec.Shoot.Raw)).To(Equal(shoot))
	broken := &extensionsv1alpha1.Cluster{Spec: extensionsv1alpha1.ClusterSpec{CloudProfile: runtime.RawExtension{Raw: []byte("[]")}}}
	_, err = CacheOptions().DefaultTransform(broken)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(broken.Spec.CloudProfile.Raw)).To(Equal("[]"))
}
