// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// shootCRD is a CRD that only a seed without Gardener has: Gardener serves Shoots from an
// API server of its own.
const shootCRD = "shoots.core.gardener.cloud"

// +kubebuilder:rbac:roleName=detection/operator,groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=shoots.core.gardener.cloud,verbs=get

// mode returns the configured mode or, without one, detects it in the seed.
func (o *Options) mode(ctx context.Context) (configv1alpha1.Mode, error) {
	if o.Config.Mode != "" {
		return o.Config.Mode, nil
	}
	c, err := client.New(o.Seed, client.Options{Scheme: seedclient.Scheme()})
	if err != nil {
		return "", fmt.Errorf("connect to the seed %s: %w", o.Seed.Host, err)
	}
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	switch err := c.Get(ctx, client.ObjectKey{Name: shootCRD}, crd); {
	case err == nil:
		return configv1alpha1.ModeStandalone, nil
	case apierrors.IsNotFound(err):
		return configv1alpha1.ModeGardener, nil
	default:
		return "", fmt.Errorf("detect whether Gardener runs here (set mode in the configuration to skip this): %w", err)
	}
}

// shootClientVariable is the environment variable with which Gardener makes extensions
// connect to shoots from outside of the seed (Gardener contract, S1).
const shootClientVariable = "GARDENER_SHOOT_CLIENT"

// accessSecrets returns the names of the Secrets with kubeconfigs of shoots, the preferred
// one first. In a landscape the API servers of shoots run in the seed.
func accessSecrets(mode configv1alpha1.Mode) []string {
	if mode == configv1alpha1.ModeGardener && os.Getenv(shootClientVariable) != "external" {
		return []string{shootclient.InternalSecretName, shootclient.SecretName}
	}
	return []string{shootclient.SecretName}
}
