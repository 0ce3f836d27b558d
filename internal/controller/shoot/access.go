// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// userSecretSuffix ends the name of the user's Secret with the kubeconfig of
	// the Shoot whose name precedes it, in the Shoot's namespace.
	userSecretSuffix = ".kubeconfig"
	// accessSecret is the Secret in the control-plane namespace with which a seed's
	// components reach the shoot.
	accessSecret = shootclient.SecretName
	// accessFinalizer keeps that Secret while something in the namespace needs it.
	// Whoever deletes the namespace deletes its Secrets first, and none can be
	// created anew there.
	accessFinalizer = "trellis.network/access"
	// kubeconfigKey is the key in both Secrets.
	kubeconfigKey = shootclient.SecretKey
	// fieldManager owns what is written by server-side apply.
	fieldManager = client.FieldOwner("trellis")
)

// takeOverAccess keeps the Secret in the control-plane namespace in step with the
// user's, and learns the API server's address from it. The content is read only
// when one of the two has changed since they were seen to agree.
func (op *operation) takeOverAccess(ctx context.Context) error {
	sourceKey := client.ObjectKey{Namespace: op.shoot.Namespace, Name: op.shoot.Name + userSecretSuffix}
	targetKey := client.ObjectKey{Namespace: op.namespace, Name: accessSecret}
	source, target := partialMetadata("Secret"), partialMetadata("Secret")
	if err := op.secrets.Get(ctx, sourceKey, source); err != nil {
		if apierrors.IsNotFound(err) {
			return noSecret(sourceKey)
		}
		return err
	}
	if err := client.IgnoreNotFound(op.secrets.Get(ctx, targetKey, target)); err != nil {
		return err
	}
	if isDeleting(target) {
		if _, err := op.releaseAccess(ctx, op.namespace); err != nil {
			return err
		}
	}
	seen := accessVersions{source: versionOf(source), target: versionOf(target)}
	if address, known := op.access.recall(op.namespace, seen); known {
		op.apiServer = address
		return nil
	}
	kubeconfig, err := op.readKubeconfig(ctx, sourceKey)
	if err != nil {
		return err
	}
	address, err := apiServerAddress(kubeconfig)
	if err != nil {
		return misconfigured(fmt.Sprintf("the Secret %s: %v", sourceKey, err))
	}
	op.apiServer = address
	if seen.target, err = op.writeKubeconfig(ctx, sourceKey, targetKey, kubeconfig); err != nil {
		return err
	}
	op.access.remember(op.namespace, seen, address)
	return nil
}

func noSecret(key client.ObjectKey) error {
	return misconfigured(fmt.Sprintf("the Secret %s does not exist: create it with the shoot's kubeconfig under the key %s", key, kubeconfigKey))
}

func (op *operation) readKubeconfig(ctx context.Context, key client.ObjectKey) ([]byte, error) {
	secret := &corev1.Secret{}
	if err := op.live.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, noSecret(key)
		}
		return nil, err
	}
	kubeconfig := secret.Data[kubeconfigKey]
	if len(bytes.TrimSpace(kubeconfig)) == 0 {
		return nil, misconfigured(fmt.Sprintf("the Secret %s has nothing under the key %s: put the shoot's kubeconfig there", key, kubeconfigKey))
	}
	return kubeconfig, nil
}

// writeKubeconfig makes the Secret at key hold the kubeconfig of source, say whose
// it is, and hold our finalizer, and returns the version that does. One that is
// being deleted takes no finalizer any more, but a new kubeconfig.
func (op *operation) writeKubeconfig(ctx context.Context, source, key client.ObjectKey, kubeconfig []byte) (string, error) {
	current := &corev1.Secret{}
	err := op.live.Get(ctx, key, current)
	if client.IgnoreNotFound(err) != nil {
		return "", err
	}
	held := controllerutil.ContainsFinalizer(current, accessFinalizer)
	if err == nil && bytes.Equal(current.Data[kubeconfigKey], kubeconfig) &&
		current.Annotations[shootclient.CopyOf] == source.String() && (held || isDeleting(current)) {
		return versionOf(current), nil
	}
	secret := corev1ac.Secret(key.Name, key.Namespace).
		WithAnnotations(map[string]string{shootclient.CopyOf: source.String()}).
		WithData(map[string][]byte{kubeconfigKey: kubeconfig})
	if held || !isDeleting(current) {
		secret.WithFinalizers(accessFinalizer)
	}
	if err := op.client.Apply(ctx, secret, fieldManager, client.ForceOwnership); err != nil {
		return "", fmt.Errorf("take over the kubeconfig into the Secret %s: %w", key, err)
	}
	written := &metav1.ObjectMeta{}
	if secret.ObjectMetaApplyConfiguration != nil && secret.UID != nil && secret.ResourceVersion != nil {
		written.UID, written.ResourceVersion = *secret.UID, *secret.ResourceVersion
	}
	return versionOf(written), nil
}

// versionOf identifies one content of one object.
func versionOf(object metav1.Object) string {
	return string(object.GetUID()) + "/" + object.GetResourceVersion()
}

// accessVersions are versions of the user's Secret and of the copy.
type accessVersions struct{ source, target string }

// accessMemory remembers which versions of the Secrets agree, so that an
// unchanged kubeconfig is not read again. It only ever spares reading.
type accessMemory struct {
	lock  sync.Mutex
	known map[string]rememberedAccess
}

type rememberedAccess struct {
	versions accessVersions
	address  string
}

func (m *accessMemory) recall(namespace string, seen accessVersions) (address string, known bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	remembered, has := m.known[namespace]
	return remembered.address, has && remembered.versions == seen
}

func (m *accessMemory) remember(namespace string, seen accessVersions, address string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.known == nil {
		m.known = map[string]rememberedAccess{}
	}
	m.known[namespace] = rememberedAccess{versions: seen, address: address}
}

func (m *accessMemory) forget(namespace string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.known, namespace)
}
