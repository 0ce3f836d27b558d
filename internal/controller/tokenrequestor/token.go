// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"context"
	"fmt"
	"maps"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// fieldManager owns, in shoots, what this package writes. It is another one than
	// that of applied objects, of which a ServiceAccount may be one, too.
	fieldManager = client.FieldOwner("trellis-token-requestor")
	// longestUse bounds how long a token is used, however long it is valid.
	longestUse = 24 * time.Hour
	// renewalShare is the part of its time after which a token is replaced, and
	// spread the part of that by which it may be earlier.
	renewalShare, spread = 0.8, 0.05
)

// isGood says whether a token need not be replaced: its time is not over, and the
// shoot's API server takes it for the ServiceAccount's.
func (t *tokens) isGood(ctx context.Context, shoot *shootclient.Shoot, token string, wanted *request) (bool, error) {
	if token == "" || !t.options.Clock.Now().Before(wanted.renewal) {
		return false, nil
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: t.options.Audiences}}
	if err := shoot.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("have the shoot's API server review the token: %w", err)
	}
	return review.Status.Authenticated && review.Status.User.Username == wanted.username(), nil
}

// ensureServiceAccount makes the ServiceAccount what it has to be, if it is not.
// What else is in it stays.
func ensureServiceAccount(ctx context.Context, shoot client.Client, wanted *request) error {
	present := &corev1.ServiceAccount{}
	err := shoot.Get(ctx, wanted.account, present)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	labels := maps.Clone(present.Labels)
	maps.DeleteFunc(labels, func(key, value string) bool { return wanted.labels[key] != value })
	if err == nil && len(labels) == len(wanted.labels) && !ptr.Deref(present.AutomountServiceAccountToken, true) {
		return nil
	}
	account := corev1ac.ServiceAccount(wanted.account.Name, wanted.account.Namespace).
		WithAutomountServiceAccountToken(false).WithLabels(wanted.labels)
	if err := shoot.Apply(ctx, account, fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("write the ServiceAccount %s: %w", wanted.account, err)
	}
	return nil
}

// renew requests a token and says in wanted when to replace it.
func (t *tokens) renew(ctx context.Context, shoot client.Client, filled *content, wanted *request) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: wanted.account.Namespace, Name: wanted.account.Name}}
	issued := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: t.options.Audiences, ExpirationSeconds: ptr.To(int64(wanted.validity / time.Second)),
	}}
	if err := shoot.SubResource("token").Create(ctx, account, issued); err != nil {
		return fmt.Errorf("request a token of the ServiceAccount %s: %w", wanted.account, err)
	}
	filled.token = issued.Status.Token
	// The API server may have granted less than was asked for.
	granted := time.Duration(ptr.Deref(issued.Spec.ExpirationSeconds, 0)) * time.Second
	wanted.renewal = t.options.Clock.Now().Add(t.timeOfUse(granted)).Truncate(time.Second)
	log.FromContext(ctx).Info("Requested a token", "serviceAccount", wanted.account.String(), "renewal", wanted.renewal)
	return nil
}

// timeOfUse is how long a token is used that is valid for some time.
func (t *tokens) timeOfUse(validity time.Duration) time.Duration {
	share := renewalShare * (1 - spread*t.options.Random())
	return time.Duration(share * float64(min(validity, longestUse)))
}
