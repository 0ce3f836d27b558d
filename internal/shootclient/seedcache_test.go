// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/seedclient"
)

// A user who applies a kubeconfig as docs/run-standalone.md says leaves it in an annotation
// of the Secret as well. It is in no cache of the operator, and neither are managedFields.
func TestTheCacheOfTheSeedHasNoKubeconfigs(t *testing.T) {
	e := newEnv(t)
	secret := e.secret()
	secret.Annotations = map[string]string{
		corev1.LastAppliedConfigAnnotation: "the kubeconfig", "kapp.k14s.io/original": strings.Repeat("the kubeconfig", 100), CopyOf: "garden-dev/one",
	}
	e.Expect(e.seed.Create(e.ctx, secret)).To(Succeed())
	config, err := clientcmd.RESTConfigFromKubeConfig(e.seed.Kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	cached, err := cache.New(config, seedclient.CacheOptions())
	e.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(e.ctx)
	ended := make(chan error)
	go func() { ended <- cached.Start(ctx) }()
	defer func() { cancel(); e.Expect(<-ended).To(Succeed()) }()

	e.Expect(cached.WaitForCacheSync(ctx)).To(BeTrue())
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	e.Expect(cached.Get(e.ctx, client.ObjectKeyFromObject(secret), found)).To(Succeed())
	e.Expect(found.Annotations).To(Equal(map[string]string{CopyOf: "garden-dev/one"}))
	e.Expect(found.ManagedFields).To(BeEmpty())
	e.Expect(found.ResourceVersion).To(Equal(secret.ResourceVersion))
}
