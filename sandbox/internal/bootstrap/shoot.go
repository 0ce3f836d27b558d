// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// PublishKubeconfig creates in the garden the namespace of a shoot, and in it the
// Secret NAME.kubeconfig with an admin kubeconfig under the key kubeconfig.
func PublishKubeconfig(ctx context.Context, garden kubernetes.Interface, shoot options.Shoot, kubeconfig []byte) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shoot.Namespace}}
	_, err := garden.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the namespace of shoot %s: %w", shoot, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: shoot.Namespace, Name: shoot.Name + ".kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}
	if _, err := garden.CoreV1().Secrets(shoot.Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the Secret with the kubeconfig of shoot %s: %w", shoot, err)
	}
	return nil
}

// Version is the version of Kubernetes that the cluster reports.
func Version(client kubernetes.Interface) (string, error) {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	return version.GitVersion, nil
}
