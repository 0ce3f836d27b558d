// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const (
	// defaultValidity is how long a token is valid if nothing is said.
	defaultValidity = 12 * time.Hour
	// shortestValidity is what API servers grant at least.
	shortestValidity = 10 * time.Minute
)

// request is what a Secret asks for.
type request struct {
	// account is the ServiceAccount in the shoot, labels are its labels.
	account types.NamespacedName
	labels  map[string]string
	// validity is how long a token is to be valid.
	validity time.Duration
	// renewal is when the present token has to be replaced; zero if that is not
	// known.
	renewal time.Time
	// withCA says that the CA of the API server is wanted, too.
	withCA bool
	// target is the Secret in the shoot which gets the token instead; empty if none.
	target types.NamespacedName
}

// parse reads what a Secret asks for. The error says what its author has to change.
func parse(secret *corev1.Secret) (*request, error) {
	annotation := func(key string) string { return secret.Annotations[key] }
	r := &request{
		account: types.NamespacedName{
			Namespace: annotation(resourcesv1alpha1.ServiceAccountNamespace), Name: annotation(resourcesv1alpha1.ServiceAccountName),
		},
		target: types.NamespacedName{
			Namespace: annotation(resourcesv1alpha1.TargetSecretNamespace), Name: annotation(resourcesv1alpha1.TargetSecretName),
		},
		validity: defaultValidity,
	}
	if r.account.Name == "" || r.account.Namespace == "" {
		return nil, fmt.Errorf("the annotations %s and %s must say whose token is wanted",
			resourcesv1alpha1.ServiceAccountName, resourcesv1alpha1.ServiceAccountNamespace)
	}
	if (r.target.Name == "") != (r.target.Namespace == "") {
		return nil, fmt.Errorf("of the annotations %s and %s either both or none must be there",
			resourcesv1alpha1.TargetSecretName, resourcesv1alpha1.TargetSecretNamespace)
	}
	if text := annotation(resourcesv1alpha1.ServiceAccountLabels); text != "" {
		if err := json.Unmarshal([]byte(text), &r.labels); err != nil {
			return nil, fmt.Errorf("the annotation %s must be a JSON object of strings such as {\"a\":\"b\"}: %w",
				resourcesv1alpha1.ServiceAccountLabels, err)
		}
	}
	if text := annotation(resourcesv1alpha1.TokenExpirationDuration); text != "" {
		validity, err := time.ParseDuration(text)
		if err != nil || validity < shortestValidity {
			return nil, fmt.Errorf("the annotation %s is %q and must be a duration of at least %s, such as 12h",
				resourcesv1alpha1.TokenExpirationDuration, text, shortestValidity)
		}
		r.validity = validity
	}
	r.withCA, _ = strconv.ParseBool(annotation(resourcesv1alpha1.InjectCABundle))
	// What is not readable is as good as not known: a new token will do.
	r.renewal, _ = time.Parse(time.RFC3339, annotation(resourcesv1alpha1.TokenRenewTimestamp))
	return r, nil
}

// inTarget says whether the token goes into a Secret in the shoot.
func (r *request) inTarget() bool { return r.target.Name != "" }

// username is the ServiceAccount's in the shoot.
func (r *request) username() string {
	return "system:serviceaccount:" + r.account.Namespace + ":" + r.account.Name
}
