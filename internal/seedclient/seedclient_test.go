// SPDX-License-Identifier: Apache-2.0

package seedclient

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
