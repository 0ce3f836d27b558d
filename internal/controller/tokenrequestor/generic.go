// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// genericName begins the name of the generic kubeconfig's Secret.
	genericName = "generic-token-kubeconfig"
	// tokenFile is where components have their token by Gardener's convention, in the
	// same projected volume as the kubeconfig.
	tokenFile = "/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/token"
)

// kubeconfigs makes, for each control plane, the kubeconfig that its components
// use together with a token of their own: it leads to the shoot and has no
// credentials. Its Secret never changes; another shoot address gets another Secret.
type kubeconfigs struct {
	// client reads Clusters from the cache and writes to the seed.
	client client.Client
	// cached reads the metadata of Secrets, live reads Secrets.
	cached, live client.Reader
}

var _ reconcile.Reconciler = &kubeconfigs{}

// Reconcile implements reconcile.Reconciler. It writes the Secret and then its name
// into the Cluster.
func (k *kubeconfigs) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	namespace := request.Name
	cluster := &extensionsv1alpha1.Cluster{}
	if err := k.client.Get(ctx, client.ObjectKey{Name: namespace}, cluster); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	access := &corev1.Secret{}
	if err := k.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shootclient.SecretName}, access); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !cluster.DeletionTimestamp.IsZero() || !access.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	config, err := shootclient.Config(access.Data[shootclient.SecretKey])
	if err != nil {
		// Whoever uses that Secret tells of it; a change of it wakes us.
		log.FromContext(ctx).V(1).Info("There is no generic kubeconfig", "cause", err.Error())
		return reconcile.Result{}, nil
	}
	secret, err := genericSecret(namespace, config)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := k.ensure(ctx, secret); err != nil {
		return reconcile.Result{}, err
	}
	if cluster.Annotations[resourcesv1alpha1.GenericKubeconfigName] == secret.Name {
		return reconcile.Result{}, nil
	}
	before := cluster.DeepCopy()
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, resourcesv1alpha1.GenericKubeconfigName, secret.Name)
	return reconcile.Result{}, client.IgnoreNotFound(k.client.Patch(ctx, cluster, client.MergeFrom(before)))
}

// ensure creates the Secret if it is not there. In a namespace that is about to go
// nothing can be created, and nothing is needed.
func (k *kubeconfigs) ensure(ctx context.Context, secret *corev1.Secret) error {
	present := &metav1.PartialObjectMetadata{}
	present.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := k.cached.Get(ctx, client.ObjectKeyFromObject(secret), present)
	if !apierrors.IsNotFound(err) {
		return err
	}
	err = client.IgnoreAlreadyExists(k.client.Create(ctx, secret))
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the generic kubeconfig: %w", err)
	}
	return nil
}

// genericSecret makes the Secret of what leads to a shoot.
func genericSecret(namespace string, config *rest.Config) (*corev1.Secret, error) {
	const name = "shoot"
	cluster := clientcmdapi.NewCluster()
	cluster.Server, cluster.CertificateAuthorityData = config.Host, config.CAData
	cluster.TLSServerName, cluster.InsecureSkipTLSVerify = config.ServerName, config.Insecure
	user := clientcmdapi.NewAuthInfo()
	user.TokenFile = tokenFile
	kubeconfigContext := clientcmdapi.NewContext()
	kubeconfigContext.Cluster, kubeconfigContext.AuthInfo = name, name
	encoded, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: user},
		Contexts:  map[string]*clientcmdapi.Context{name: kubeconfigContext}, CurrentContext: name,
	})
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{keyKubeconfig: encoded}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: genericName + "-" + hex.EncodeToString(sum[:])[:8],
			Labels: map[string]string{resourcesv1alpha1.GarbageCollectable: "true"},
		},
		Type: corev1.SecretTypeOpaque, Immutable: ptr.To(true), Data: data,
	}, nil
}
