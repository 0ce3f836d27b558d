// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/outcome"
)

// content is what the Secrets of a ManagedResource hold.
type content struct {
	objects []*unstructured.Unstructured
	// problems are the documents that cannot be decoded, as sentences.
	problems []string
	// checksum of all values.
	checksum string
	// inputs are the versions of everything that the content depends on.
	inputs string
}

// contentReader reads the Secrets of ManagedResources.
type contentReader struct {
	// cached reads metadata, live reads whole Secrets.
	cached, live client.Reader
}

// read reads and decodes all Secrets of a run.
func (r *contentReader) read(ctx context.Context, run *run) outcome.Outcome {
	c, sum := &content{}, sha256.New()
	var secrets []metav1.Object
	for _, ref := range run.mr.Spec.SecretRefs {
		secret := &corev1.Secret{}
		if err := r.live.Get(ctx, client.ObjectKey{Namespace: run.mr.Namespace, Name: ref.Name}, secret); err != nil {
			return failed(reasonCannotReadSecret, fmt.Errorf("cannot read Secret %s: %w", ref.Name, err))
		}
		for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
			sum.Write(secret.Data[key])
		}
		objects, problems := bundle.Decode(secret.Name, secret.Data)
		c.objects, c.problems = append(c.objects, objects...), append(c.problems, problems...)
		secrets = append(secrets, secret)
	}
	c.inputs, c.checksum = inputsOf(run.mr, secrets), hex.EncodeToString(sum.Sum(nil))
	run.content = c
	return outcome.Continue()
}

// inputs returns the present versions of everything that the content depends on, from
// the cache. It returns "" if the cache lacks a Secret.
func (r *contentReader) inputs(ctx context.Context, mr *resourcesv1alpha1.ManagedResource) (string, error) {
	secrets := make([]metav1.Object, 0, len(mr.Spec.SecretRefs))
	for _, ref := range mr.Spec.SecretRefs {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := r.cached.Get(ctx, client.ObjectKey{Namespace: mr.Namespace, Name: ref.Name}, secret)
		if err != nil {
			return "", client.IgnoreNotFound(err)
		}
		secrets = append(secrets, secret)
	}
	return inputsOf(mr, secrets), nil
}

func inputsOf(mr *resourcesv1alpha1.ManagedResource, secrets []metav1.Object) string {
	inputs := fmt.Sprintf("generation %d", mr.Generation)
	for _, secret := range secrets {
		inputs += fmt.Sprintf(", %s %s %s", secret.GetName(), secret.GetUID(), secret.GetResourceVersion())
	}
	return inputs
}
