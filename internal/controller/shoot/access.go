// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// userSecretSuffix follows the name of the Shoot in the name of the user's Secret with
	// the kubeconfig, which is in the Shoot's namespace.
	userSecretSuffix = ".kubeconfig"
	// accessSecret is the copy of it in the control-plane namespace, with which the
	// components of a seed connect to the shoot.
	accessSecret = shootclient.SecretName
	// accessFinalizer keeps the copy while something in the namespace needs it. When a
	// namespace is deleted, Kubernetes deletes its Secrets immediately and refuses new
	// ones.
	accessFinalizer = "trellis.network/access"
	// kubeconfigKey is the key of the kubeconfig in both Secrets.
	kubeconfigKey = shootclient.SecretKey
	// fieldManager owns the fields that server-side apply writes.
	fieldManager = client.FieldOwner("trellis")
)

// access copies the kubeconfigs of shoots into their control-plane namespaces.
type access struct {
	seed
	// copied has, by control-plane namespace, the versions of the Secrets that agree, so
	// that an unchanged kubeconfig is not read again.
	copied keyed.Map[string, copiedAccess]
}

// copiedAccess is a kubeconfig that was copied.
type copiedAccess struct {
	// source and target are the versions of the user's Secret and of the copy.
	source, target string
	// apiServer is the address of the shoot's API server.
	apiServer string
}

// takeOver copies the user's kubeconfig. A copy that a user deleted although the Shoot
// stays is in use until the control plane is deleted.
func (a *access) takeOver(ctx context.Context, run *run) outcome.Outcome {
	var err error
	run.apiServer, err = a.copy(ctx, run)
	return fail(err)
}

// keep copies the user's kubeconfig while a control plane is being deleted, since the old
// kubeconfig may no longer be able to delete what is in the shoot. If the user has deleted
// the kubeconfig, or broken it, the last copy stays in use.
func (a *access) keep(ctx context.Context, run *run) outcome.Outcome {
	apiServer, err := a.copy(ctx, run)
	if errors.As(err, &userError{}) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return outcome.Continue()
	}
	run.apiServer = apiServer
	return fail(err)
}

// delete deletes the copy, which nothing needs any longer.
func (a *access) delete(ctx context.Context, run *run) outcome.Outcome {
	if run.controlPlane == nil {
		return outcome.Continue()
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: run.namespace, Name: accessSecret}}
	if err := client.IgnoreNotFound(a.Delete(ctx, secret)); err != nil {
		return fail(err)
	}
	return fail(a.removeFinalizer(ctx, run.namespace))
}

// copy keeps the copy up to date, and returns the address of the shoot's API server. It
// reads the Secrets only if one of them has changed since they last agreed.
func (a *access) copy(ctx context.Context, run *run) (apiServer string, err error) {
	sourceKey := client.ObjectKey{Namespace: run.shoot.Namespace, Name: run.shoot.Name + userSecretSuffix}
	targetKey := client.ObjectKey{Namespace: run.namespace, Name: accessSecret}
	source, target := partialMetadata("Secret"), partialMetadata("Secret")
	if err := a.cached.Get(ctx, sourceKey, source); err != nil {
		return "", missingSecret(sourceKey, err)
	}
	if err := client.IgnoreNotFound(a.cached.Get(ctx, targetKey, target)); err != nil {
		return "", err
	}
	last, known := a.copied.Get(run.namespace)
	if known && last.source == versionOf(source) && last.target == versionOf(target) {
		return last.apiServer, nil
	}
	kubeconfig, err := a.read(ctx, sourceKey)
	if err != nil {
		return "", err
	}
	if apiServer, err = apiServerAddress(kubeconfig); err != nil {
		return "", userError{fmt.Errorf("the Secret %s: %w", sourceKey, err)}
	}
	version, err := a.write(ctx, sourceKey, targetKey, kubeconfig)
	if err == nil {
		a.copied.Set(run.namespace, copiedAccess{versionOf(source), version, apiServer})
	}
	return apiServer, err
}

// read returns the user's kubeconfig.
func (a *access) read(ctx context.Context, key client.ObjectKey) ([]byte, error) {
	secret := &corev1.Secret{}
	if err := a.live.Get(ctx, key, secret); err != nil {
		return nil, missingSecret(key, err)
	}
	kubeconfig := secret.Data[kubeconfigKey]
	if len(bytes.TrimSpace(kubeconfig)) == 0 {
		return nil, userError{fmt.Errorf("the Secret %s has nothing under the key %s: put the shoot's kubeconfig there", key, kubeconfigKey)}
	}
	return kubeconfig, nil
}

func missingSecret(key client.ObjectKey, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	return userError{fmt.Errorf("the Secret %s does not exist: create it with the shoot's kubeconfig under the key %s", key, kubeconfigKey)}
}

// write writes the copy with the finalizer and with the annotation that names its source,
// and returns its version. A copy that is being deleted can't get a finalizer, but a new
// kubeconfig.
func (a *access) write(ctx context.Context, source, key client.ObjectKey, kubeconfig []byte) (string, error) {
	current := &corev1.Secret{}
	err := a.live.Get(ctx, key, current)
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
	if err := a.Apply(ctx, secret, fieldManager, client.ForceOwnership); err != nil {
		return "", fmt.Errorf("take over the kubeconfig into the Secret %s: %w", key, err)
	}
	written := &metav1.ObjectMeta{}
	if secret.ObjectMetaApplyConfiguration != nil && secret.UID != nil && secret.ResourceVersion != nil {
		written.UID, written.ResourceVersion = *secret.UID, *secret.ResourceVersion
	}
	return versionOf(written), nil
}

// removeFinalizer removes the finalizer from a copy that is being deleted.
func (a *access) removeFinalizer(ctx context.Context, namespace string) error {
	a.copied.Delete(namespace)
	secret := partialMetadata("Secret")
	err := a.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: accessSecret}, secret)
	if err != nil || !isDeleting(secret) {
		return client.IgnoreNotFound(err)
	}
	before := secret.DeepCopy()
	if !controllerutil.RemoveFinalizer(secret, accessFinalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(a.Patch(ctx, secret, patch)); err != nil {
		return fmt.Errorf("release the Secret %s/%s: %w", namespace, accessSecret, err)
	}
	return nil
}

// versionOf identifies one content of one object.
func versionOf(object metav1.Object) string {
	return string(object.GetUID()) + "/" + object.GetResourceVersion()
}

// apiServerAddress returns "<host>:<port>" of the API server in a kubeconfig. It accepts
// the kubeconfigs that the components of the seed accept.
func apiServerAddress(kubeconfig []byte) (string, error) {
	config, err := shootclient.Config(kubeconfig)
	if err != nil {
		return "", err
	}
	return addressOf(config.Host)
}

func addressOf(server string) (string, error) {
	parsed, err := url.Parse(server)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return "", errors.New("the server of the kubeconfig's cluster must be a URL such as https://api.example.com:6443")
	}
	port := map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	return net.JoinHostPort(parsed.Hostname(), cmp.Or(parsed.Port(), port)), nil
}
