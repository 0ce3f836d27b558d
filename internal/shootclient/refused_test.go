// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// as returns the shoot's kubeconfig with a token in place of the administrator's
// certificate.
func (e *env) as(t *testing.T, token string) []byte {
	t.Helper()
	config, err := clientcmd.Load(e.shoot.Kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	kubeconfig, err := clientcmd.Write(*config)
	e.Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}

// powerless creates a ServiceAccount without rights and returns a token of it.
func (e *env) powerless() string {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: e.namespace, Namespace: "default"}}
	e.Expect(e.shoot.Create(e.ctx, account)).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	e.Expect(e.shoot.SubResource("token").Create(e.ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// allow lets that ServiceAccount do these things, and no others, with ConfigMaps
// and DaemonSets.
func (e *env) allow(verbs ...string) {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps"}, Resources: []string{"configmaps", "daemonsets"}, Verbs: verbs}}}
	if e.shoot.Create(e.ctx, role) != nil {
		e.Expect(e.shoot.Update(e.ctx, role)).To(Succeed())
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: e.namespace, Namespace: "default"}}}
	e.Expect(client.IgnoreAlreadyExists(e.shoot.Create(e.ctx, binding))).To(Succeed())
}

// Credentials that the shoot does not know are told as such, with the Secret that
// its user can change.
func TestDeadCredentialsAreTold(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Now())
	e := newEnv(t, func(o *Options) { o.Clock, o.RequestTimeout, o.ConnectTimeout = clock, time.Minute, time.Minute })
	refusal := func() *RefusedError {
		t.Helper()
		_, err := e.clients.For(e.ctx, e.namespace)
		var refused *RefusedError
		e.Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
		return refused
	}
	e.grant(e.as(t, "dead"))
	e.Expect(refusal().Error()).To(HavePrefix("the shoot's API server https://"))
	e.Expect(refusal().Error()).To(HaveSuffix(" refuses the credentials in the Secret %s/gardener: "+
		"they are invalid or expired; replace the kubeconfig", e.namespace))
	sent := e.requests.Load()
	refusal()
	e.Expect(e.requests.Load()).To(Equal(sent), "they were refused a moment ago")
	clock.SetTime(clock.Now().Add(time.Minute))
	refusal()
	e.Expect(e.requests.Load()).To(Equal(sent + 1))

	secret := e.secret()
	secret.Annotations = map[string]string{CopyOf: "garden-dev/one.kubeconfig"}
	secret.Data = map[string][]byte{SecretKey: e.as(t, "dead too")}
	e.Expect(e.seed.Update(e.ctx, secret)).To(Succeed())
	e.Expect(refusal().Secret).To(Equal("garden-dev/one.kubeconfig"))

	e.grant(e.shoot.Kubeconfig)
	_, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred(), "another kubeconfig is tried at once")
}

// Credentials that die in use end the access to what the cache still has.
func TestCredentialsThatDieInUseAreTold(t *testing.T) {
	e := newEnv(t)
	token := e.powerless()
	e.allow("*")
	e.grant(e.as(t, token))
	shoot, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: e.namespace, Namespace: "default"}}
	e.Expect(e.shoot.Delete(e.ctx, account)).To(Succeed())
	e.Eventually(func() error {
		return shoot.Failure(shoot.Client.List(e.ctx, &corev1.ConfigMapList{}, client.InNamespace("default")))
	}).Should(BeAssignableToTypeOf(&RefusedError{}))
	_, err = e.clients.For(e.ctx, e.namespace)
	e.Expect(err).To(BeAssignableToTypeOf(&RefusedError{}))
}

// Missing rights are told at once, not when the wait for the cache is over, and
// need no new kubeconfig once they are granted.
func TestMissingRightsAreTold(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Now())
	e := newEnv(t, func(o *Options) { o.Clock, o.SyncTimeout, o.RequestTimeout = clock, time.Hour, time.Minute })
	e.grant(e.as(t, e.powerless()))
	shoot, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	watch := func() error { return shoot.Watch(e.ctx, daemonSets, configMaps) }
	later := func() error {
		clock.SetTime(clock.Now().Add(time.Minute))
		return watch()
	}

	err = watch()
	e.Expect(err).To(BeAssignableToTypeOf(&RefusedError{}))
	e.Expect(err).To(MatchError(HavePrefix("the credentials in the Secret %s/gardener may not list and watch ConfigMap, DaemonSet objects in the shoot: ", e.namespace)))
	e.Expect(err).To(MatchError(HaveSuffix("grant them the rights of cluster-admin, or put another kubeconfig there")))
	e.Expect(apierrors.IsForbidden(err)).To(BeTrue())
	e.Eventually(func() int { return goroutines("(*Reflector)") }).Should(BeZero(), "no informer asks in vain")
	sent := e.requests.Load()
	e.Expect(watch()).To(BeAssignableToTypeOf(&RefusedError{}))
	e.Expect(e.requests.Load()).To(Equal(sent), "they were refused a moment ago")

	e.allow("list")
	e.Eventually(later).Should(MatchError(ContainSubstring(`cannot watch resource`)))
	e.Consistently(later).WithTimeout(time.Second).Should(BeAssignableToTypeOf(&RefusedError{}), "what cannot be watched would be outdated")
	e.allow("list", "watch")
	e.Eventually(later).Should(Succeed())
	e.Expect(shoot.Reader.List(e.ctx, &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}})).To(Succeed())
	shoot.refused.note(configMaps, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil))
	e.Expect(watch()).To(BeAssignableToTypeOf(&RefusedError{}), "what was in the cache may not be true any more")
	e.Expect(later()).To(Succeed())

	cm := &corev1.ConfigMap{ObjectMeta: managed(e.namespace, "one")}
	err = shoot.Failure(shoot.Client.Create(e.ctx, cm))
	e.Expect(err).To(BeAssignableToTypeOf(&RefusedError{}))
	e.Expect(err).To(MatchError(ContainSubstring("may not do all that is needed in the shoot: configmaps is forbidden: User ")))
}

// What admission forbids is no matter of credentials.
func TestForbiddenByAdmissionIsNoRefusal(t *testing.T) {
	e := newEnv(t)
	e.grant(e.shoot.Kubeconfig)
	shoot, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	err = shoot.Client.Create(e.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: e.namespace, Namespace: "default"}, Spec: corev1.PodSpec{
		ServiceAccountName: "missing", Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
	e.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	e.Expect(shoot.Failure(err)).To(BeIdenticalTo(err))
}

// The seed's answers are not the fault of a kubeconfig.
func TestRefusalsOfTheSeedStayAsTheyAre(t *testing.T) {
	g := NewWithT(t)
	err := apierrors.NewUnauthorized("no")
	g.Expect((&Shoot{}).Failure(err)).To(BeIdenticalTo(err))
}
