// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/contract"
)

const (
	users     = corev1beta1.ErrorConfigurationProblem
	retryable = corev1beta1.ErrorRetryableConfigurationProblem
	cleanup   = corev1beta1.ErrorCleanupClusterResources
)

// The type of an error decides its code, not its text.
func TestFailuresHaveCodes(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "x", nil)
	forbidden := apierrors.NewForbidden(configMaps, "x", errors.New("exceeded quota: compute"))
	ending := apierrors.NewForbidden(configMaps, "x", errors.New("the namespace is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		reason string
		err    error
		codes  []corev1beta1.ErrorCode
	}{
		"invalid":                    {reasonApplyFailed, fmt.Errorf("apply: %w", invalid), []corev1beta1.ErrorCode{users}},
		"too large":                  {reasonApplyFailed, apierrors.NewRequestEntityTooLargeError("limit is 3 MiB"), []corev1beta1.ErrorCode{users}},
		"no JSON":                    {reasonApplyFailed, apierrors.NewBadRequest("x"), []corev1beta1.ErrorCode{users}},
		"undecodable":                {reasonDecodingFailed, errors.New("x"), []corev1beta1.ErrorCode{users}},
		"no kubeconfig":              {reasonApplyFailed, &shootclient.NoAccessError{Err: errors.New("x")}, []corev1beta1.ErrorCode{users}},
		"credentials refused":        {reasonDeletionFailed, &shootclient.RefusedError{Err: forbidden}, []corev1beta1.ErrorCode{users}},
		"forbidden by admission":     {reasonApplyFailed, forbidden, []corev1beta1.ErrorCode{retryable}},
		"deletion forbidden":         {reasonDeletionFailed, forbidden, []corev1beta1.ErrorCode{cleanup}},
		"in a namespace that ends":   {reasonApplyFailed, ending, nil},
		"deleted to be recreated":    {reasonApplyFailed, &recreating{invalid}, nil},
		"just words":                 {reasonApplyFailed, errors.New(`error during apply of object "x" is invalid: y`), nil},
		"unreachable":                {reasonApplyFailed, &shootclient.UnreachableError{Err: errors.New("x")}, nil},
		"the API server is busy":     {reasonApplyFailed, apierrors.NewTooManyRequests("x", 1), nil},
		"the Secret cannot be read":  {reasonCannotReadSecret, errors.New("x"), nil},
		"an object that others have": {reasonApplyFailed, apierrors.NewConflict(configMaps, "x", errors.New("y")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(codesOf(test.reason, test.err)).To(Equal(test.codes))
		})
	}
}

// The condition has the codes of errors that an API server returns.
func TestCodesAreInTheCondition(t *testing.T) {
	contract.Shows(t, "N36")
	e := newEnv(t)
	e.Expect(e.shoot.Create(e.ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("0")}},
	})).To(Succeed())
	e.state("invalid", e.configMap("one", "no such key!", ""))
	e.state("forbidden", &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "two"},
	})
	e.stateData("undecodable", map[string][]byte{"a": []byte("{")})
	e.operator()
	for name, code := range map[string]corev1beta1.ErrorCode{"invalid": users, "forbidden": retryable, "undecodable": users} {
		e.Eventually(func() []corev1beta1.ErrorCode {
			applied := condition.Get(e.get(name).Status.Conditions, resourcesv1alpha1.ResourcesApplied)
			if applied == nil || applied.Status != corev1beta1.ConditionFalse {
				return nil
			}
			return applied.Codes
		}).Should(HaveExactElements(code), name)
	}
}
