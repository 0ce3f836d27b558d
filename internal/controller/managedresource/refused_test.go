// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// as returns the shoot's kubeconfig with a token for credentials.
func (e *env) as(token string) []byte {
	e.t.Helper()
	config, err := clientcmd.Load(e.shoot.Kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	kubeconfig, err := clientcmd.Write(*config)
	e.Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}

// reader returns a token of a ServiceAccount that may read ConfigMaps and write nothing.
func (e *env) reader() string {
	e.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: e.namespace}}
	name := metav1.ObjectMeta{Name: e.namespace}
	e.Expect(e.shoot.Create(e.ctx, account)).To(Succeed())
	e.Expect(e.shoot.Create(e.ctx, &rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}}}})).To(Succeed())
	e.Expect(e.shoot.Create(e.ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: name,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: account.Namespace}}})).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	e.Expect(e.shoot.SubResource("token").Create(e.ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// The conditions report credentials that the shoot refuses, or whose rights do not suffice,
// with their Secret and with Gardener's code for a problem that a user must correct. The
// operator tries a new kubeconfig at once.
func TestRefusedCredentials(t *testing.T) {
	e := newEnv(t)
	reader := e.reader()
	e.state("network", e.configMap("one"), &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: e.namespace},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	e.state("plain", e.configMap("two"))
	e.setKubeconfig(e.as("dead"))
	e.operator(func(o *Options) { o.SyncPeriod = time.Hour })
	isRefused := func(name, problem string) {
		t.Helper()
		e.Eventually(e.message(name, "ResourcesApplied")).Should(ContainSubstring(problem))
		e.Expect(e.conditions(name)()).To(And(
			HaveKeyWithValue("ResourcesApplied", "False ApplyFailed"), HaveKeyWithValue("ResourcesHealthy", "Unknown HealthCheckError")))
		e.Expect(condition.Value(e.get(name).Status.Conditions, resourcesv1alpha1.ResourcesApplied).Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
	}
	isRefused("network", " refuses the credentials in the Secret "+e.namespace+"/gardener: ")

	e.setKubeconfig(e.as(reader))
	isRefused("network", "the credentials in the Secret "+e.namespace+"/gardener may not list and watch Service objects in the shoot: ")
	isRefused("plain", "the credentials in the Secret "+e.namespace+"/gardener may not do all that is needed in the shoot: configmaps")
	e.Expect(e.message("plain", "ResourcesApplied")()).To(MatchRegexp(`^error during apply of object .* is forbidden:`))

	e.setKubeconfig(e.shoot.Kubeconfig)
	e.becomesGood("network")
	e.becomesGood("plain")
	e.Expect(condition.Value(e.get("network").Status.Conditions, resourcesv1alpha1.ResourcesApplied).Codes).To(BeEmpty())
}
