// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// Whoever asks wrongly is told what is allowed.
func TestWrongRequestsAreExplained(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		problem     string
	}{
		"all is well": {map[string]string{}, ""},
		"whose token": {map[string]string{resourcesv1alpha1.ServiceAccountName: ""},
			"the annotations serviceaccount.resources.gardener.cloud/name and serviceaccount.resources.gardener.cloud/namespace must say whose token is wanted"},
		"half a target": {map[string]string{resourcesv1alpha1.TargetSecretName: "x"}, "either both or none must be there"},
		"labels": {map[string]string{resourcesv1alpha1.ServiceAccountLabels: "a=b"},
			`must be a JSON object of strings such as {"a":"b"}`},
		"no duration": {map[string]string{resourcesv1alpha1.TokenExpirationDuration: "a day"},
			`is "a day" and must be a duration of at least 10m0s, such as 12h`},
		"too short":        {map[string]string{resourcesv1alpha1.TokenExpirationDuration: "1m"}, "at least 10m0s"},
		"a time misspelt":  {map[string]string{resourcesv1alpha1.TokenRenewTimestamp: "soon"}, ""},
		"a bundle, or not": {map[string]string{resourcesv1alpha1.InjectCABundle: "perhaps"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{}
			secret.Annotations = map[string]string{
				resourcesv1alpha1.ServiceAccountName: "a", resourcesv1alpha1.ServiceAccountNamespace: "b",
			}
			for key, value := range c.annotations {
				secret.Annotations[key] = value
			}
			wanted, err := parse(secret)
			g := NewWithT(t)
			if c.problem != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.problem)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(wanted.validity).To(Equal(defaultValidity))
			g.Expect(wanted.renewal).To(BeZero())
			g.Expect(wanted.withCA).To(BeFalse())
		})
	}
}

// A kubeconfig that no token can be put into is named as what is wrong.
func TestUnusableKubeconfigs(t *testing.T) {
	for kubeconfig, problem := range map[string]string{
		"hello":                               "its value is not a kubeconfig",
		`{"apiVersion":"v1","kind":"Config"}`: `current-context is "", and there is no such context`,
		`{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{}}]}`: "must name a user",
	} {
		_, err := contentOf(nil, map[string][]byte{keyKubeconfig: []byte(kubeconfig)})
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(problem)))
	}
}

// FuzzContent: nothing in a Secret makes the operator panic.
func FuzzContent(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a"}],"users":[{"name":""}]}`))
	f.Fuzz(func(_ *testing.T, kubeconfig []byte) {
		if c, err := contentOf(map[string][]byte{keyKubeconfig: kubeconfig}, nil); err == nil {
			c.token = "x"
			c.into(nil)
		}
	})
}
