// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// ask writes a Secret that asks for a token, with further annotations.
func (e *env) ask(data map[string][]byte, annotations ...string) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.namespace, Name: "shoot-access-agent",
			Labels: map[string]string{
				resourcesv1alpha1.Purpose: resourcesv1alpha1.PurposeTokenRequestor, resourcesv1alpha1.Class: resourcesv1alpha1.ClassShoot,
			},
			Annotations: map[string]string{
				resourcesv1alpha1.ServiceAccountName: "agent", resourcesv1alpha1.ServiceAccountNamespace: e.namespace,
			},
		},
		Data: data,
	}
	for i := 0; i < len(annotations); i += 2 {
		secret.Annotations[annotations[i]] = annotations[i+1]
	}
	e.Expect(e.seed.Create(e.ctx, secret)).To(Succeed())
	return secret
}

// read reads a Secret of a cluster again.
func (e *env) read(c client.Client, name string) *corev1.Secret {
	secret := &corev1.Secret{}
	if err := c.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, secret); !apierrors.IsNotFound(err) {
		e.Expect(err).NotTo(HaveOccurred())
	}
	return secret
}

func (e *env) asked() *corev1.Secret { return e.read(e.seed, "shoot-access-agent") }

// filled waits for a token that is not the one before, and returns it.
func (e *env) filled(before string) string {
	token := func() string { return string(e.asked().Data[keyToken]) }
	e.Eventually(token).Should(And(Not(BeEmpty()), Not(Equal(before))))
	return token()
}

func (e *env) account() *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{}
	e.Expect(e.shoot.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: "agent"}, account)).To(Succeed())
	return account
}

// whoami is who the shoot's API server takes a token for: it says so when it
// refuses what a ServiceAccount without roles may not do.
func (e *env) whoami(t *testing.T, token string) string {
	cfg := rest.AnonymousClientConfig(e.config(landscape.Get(t).Shoots[0].Kubeconfig))
	cfg.BearerToken = token
	err := e.clientFor(cfg).List(e.ctx, &corev1.NodeList{})
	e.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	return strings.Split(err.Error(), `"`)[1]
}

// R26: a ServiceAccount without automatically mounted tokens, a token that works,
// and when to replace it: at most at 80 % of its time.
func TestATokenIsRequested(t *testing.T) {
	e := newEnv(t)
	e.ask(nil, resourcesv1alpha1.ServiceAccountLabels, `{"app":"agent"}`)
	e.operator(t)
	token := e.filled("")
	e.Expect(e.whoami(t, token)).To(Equal("system:serviceaccount:" + e.namespace + ":agent"))
	e.Expect(e.account().AutomountServiceAccountToken).To(Equal(ptr.To(false)))
	e.Expect(e.account().Labels).To(Equal(map[string]string{"app": "agent"}))
	e.Expect(e.asked().Annotations[resourcesv1alpha1.TokenRenewTimestamp]).To(
		Equal(e.clock.Now().Add(time.Duration(0.8 * 0.975 * float64(12*time.Hour))).Truncate(time.Second).UTC().Format(time.RFC3339)))
	e.Expect(e.asked().Data).To(HaveLen(1))

	e.afterReviews(2)
	writes := e.writes()
	e.afterReviews(5)
	e.Expect(e.writes()).To(Equal(writes), "a good token is only looked at")
	e.Expect(string(e.asked().Data[keyToken])).To(Equal(token))
}

// How long a token is used.
func TestTimeOfUse(t *testing.T) {
	for _, c := range []struct {
		validity time.Duration
		random   float64
		use      time.Duration
	}{
		{10 * time.Hour, 0, 8 * time.Hour},
		{10 * time.Hour, 1, 7*time.Hour + 36*time.Minute},
		{24 * time.Hour, 0, 19*time.Hour + 12*time.Minute},
		{1000 * time.Hour, 0, 19*time.Hour + 12*time.Minute},
	} {
		tokens := &tokens{options: Options{Random: func() float64 { return c.random }}}
		NewWithT(t).Expect(tokens.timeOfUse(c.validity)).To(BeNumerically("~", c.use, time.Millisecond))
	}
}

// A token is replaced when its time is over, and no earlier.
func TestTokensAreRenewedInTime(t *testing.T) {
	e := newEnv(t)
	e.ask(nil, resourcesv1alpha1.TokenExpirationDuration, "1h")
	e.operator(t)
	first := e.filled("")
	e.clock.SetTime(e.clock.Now().Add(46*time.Minute + 47*time.Second))
	e.afterReviews(2)
	e.Expect(string(e.asked().Data[keyToken])).To(Equal(first))
	e.clock.SetTime(e.clock.Now().Add(2 * time.Second))
	e.filled(first)
}

// A token that the shoot does not accept any more is replaced, though its time is
// not over: here its ServiceAccount was deleted, which takes the right of all its
// tokens. So is one of another ServiceAccount.
func TestRefusedTokensAreReplaced(t *testing.T) {
	e := newEnv(t)
	e.ask(nil)
	e.operator(t)
	first := e.filled("")
	e.Expect(e.shoot.Delete(e.ctx, e.account())).To(Succeed())
	second := e.filled(first)
	e.Expect(e.account().AutomountServiceAccountToken).To(Equal(ptr.To(false)))

	asked := e.asked()
	patch := client.MergeFrom(asked.DeepCopy())
	asked.Annotations[resourcesv1alpha1.ServiceAccountName] = "other"
	e.Expect(e.seed.Patch(e.ctx, asked, patch)).To(Succeed())
	e.Expect(e.whoami(t, e.filled(second))).To(HaveSuffix(":other"))
}

// What somebody has changed of a ServiceAccount is put right, and what they have
// added stays.
func TestServiceAccountsAreKeptRight(t *testing.T) {
	e := newEnv(t)
	e.Expect(e.shoot.Create(e.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: e.namespace, Name: "agent", Labels: map[string]string{"theirs": "yes", "app": "other"}}})).To(Succeed())
	e.ask(nil, resourcesv1alpha1.ServiceAccountLabels, `{"app":"agent"}`)
	e.operator(t)
	e.filled("")
	e.Expect(e.account().Labels).To(Equal(map[string]string{"theirs": "yes", "app": "agent"}))
	e.Expect(e.shoot.Patch(e.ctx, e.account(), client.RawPatch(types.MergePatchType, []byte(`{"automountServiceAccountToken":null}`)))).To(Succeed())
	e.Eventually(func() *bool { return e.account().AutomountServiceAccountToken }).Should(Equal(ptr.To(false)))
}

// A kubeconfig in the Secret gets the token, for the user of its current context;
// the CA comes beside it.
func TestKubeconfigsGetTheToken(t *testing.T) {
	e := newEnv(t)
	kubeconfig := `{"apiVersion":"v1","kind":"Config","current-context":"b",
"clusters":[{"name":"c","cluster":{"server":"https://shoot.example"}}],
"contexts":[{"name":"a","context":{"cluster":"c","user":"a"}},{"name":"b","context":{"cluster":"c","user":"b"}}],
"users":[{"name":"a","user":{"token":"a"}}]}`
	e.ask(map[string][]byte{keyKubeconfig: []byte(kubeconfig), "theirs": []byte("yes")}, resourcesv1alpha1.InjectCABundle, "true")
	e.operator(t)
	users := func() map[string]*clientcmdapi.AuthInfo {
		config, err := clientcmd.Load(e.asked().Data[keyKubeconfig])
		e.Expect(err).NotTo(HaveOccurred())
		return config.AuthInfos
	}
	e.Eventually(users).Should(HaveKey("b"))
	token := users()["b"].Token
	e.Expect(e.whoami(t, token)).To(HaveSuffix(":agent"))
	e.Expect(users()["a"].Token).To(Equal("a"))
	access, err := clientcmd.Load(e.kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	data := e.asked().Data
	e.Expect(data).To(HaveLen(3))
	e.Expect(data).To(HaveKeyWithValue("theirs", []byte("yes")))
	e.Expect(data[keyBundle]).To(Equal(access.Clusters[access.Contexts[access.CurrentContext].Cluster].CertificateAuthorityData))
	e.clock.SetTime(e.clock.Now().Add(13 * time.Hour))
	e.Eventually(func() string { return users()["b"].Token }).ShouldNot(Equal(token))
}

// A token for a Secret in the shoot is written there, and is nowhere else.
func TestTokensForTheShoot(t *testing.T) {
	e := newEnv(t)
	e.ask(map[string][]byte{keyToken: []byte("old"), keyBundle: []byte("old"), "theirs": []byte("yes")},
		resourcesv1alpha1.TargetSecretName, "target", resourcesv1alpha1.TargetSecretNamespace, e.namespace,
		resourcesv1alpha1.InjectCABundle, "true")
	e.operator(t)
	target := func() string { return string(e.read(e.shoot, "target").Data[keyToken]) }
	e.Eventually(target).ShouldNot(BeEmpty())
	first := target()
	e.Expect(e.whoami(t, first)).To(HaveSuffix(":agent"))
	e.Expect(e.read(e.shoot, "target").Data[keyBundle]).NotTo(BeEmpty())
	e.Eventually(func() map[string][]byte { return e.asked().Data }).Should(Equal(map[string][]byte{"theirs": []byte("yes")}))
	e.Expect(e.asked().Annotations).To(HaveKey(resourcesv1alpha1.TokenRenewTimestamp))

	e.afterReviews(2)
	writes := e.writes()
	accounts := e.count("shoot GET /api/v1/namespaces/" + e.namespace + "/serviceaccounts")
	e.afterReviews(3)
	e.Expect(e.writes()).To(Equal(writes))
	e.Expect(e.count("shoot GET /api/v1/namespaces/"+e.namespace+"/serviceaccounts")).To(Equal(accounts), "until a token is due")

	e.Expect(e.shoot.Delete(e.ctx, e.read(e.shoot, "target"))).To(Succeed())
	e.Eventually(target).ShouldNot(Or(BeEmpty(), Equal(first)))
}

// So with a kubeconfig, which moves there and stays.
func TestKubeconfigsForTheShoot(t *testing.T) {
	e := newEnv(t)
	kubeconfig := `{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"user":"a"}}]}`
	e.ask(map[string][]byte{keyKubeconfig: []byte(kubeconfig)},
		resourcesv1alpha1.TargetSecretName, "target", resourcesv1alpha1.TargetSecretNamespace, e.namespace)
	e.operator(t)
	token := func() string {
		data := e.read(e.shoot, "target").Data
		e.Expect(data).NotTo(HaveKey(keyToken))
		config, err := clientcmd.Load(data[keyKubeconfig])
		e.Expect(err).NotTo(HaveOccurred())
		if user := config.AuthInfos["a"]; user != nil {
			return user.Token
		}
		return ""
	}
	e.Eventually(token).ShouldNot(BeEmpty())
	first := token()
	e.Expect(e.whoami(t, first)).To(HaveSuffix(":agent"))
	e.Eventually(func() map[string][]byte { return e.asked().Data }).Should(BeEmpty())
	e.clock.SetTime(e.clock.Now().Add(13 * time.Hour))
	e.Eventually(token).ShouldNot(Equal(first))
}

// Tokens may be for stated audiences.
func TestAudiences(t *testing.T) {
	e := newEnv(t)
	e.ask(nil)
	e.operator(t, func(o *Options) { o.Audiences = []string{"gardener"} })
	token := e.filled("")
	e.Expect(e.whoami(t, token)).To(HaveSuffix(":agent"))
	e.afterReviews(2)
	e.Expect(string(e.asked().Data[keyToken])).To(Equal(token))
}

// Other Secrets are none of our business, and access that comes later is used at
// once.
func TestWhichSecretsAreFilled(t *testing.T) {
	e := newEnv(t)
	e.grant([]byte("nonsense"))
	e.ask(nil)
	for name, labels := range map[string]map[string]string{
		"of-the-garden": {resourcesv1alpha1.Purpose: resourcesv1alpha1.PurposeTokenRequestor, resourcesv1alpha1.Class: "garden"},
		"of-no-class":   {resourcesv1alpha1.Purpose: resourcesv1alpha1.PurposeTokenRequestor},
		"of-no-purpose": {resourcesv1alpha1.Class: resourcesv1alpha1.ClassShoot},
	} {
		e.Expect(e.seed.Create(e.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: e.namespace, Name: name, Labels: labels, Annotations: e.asked().Annotations}})).To(Succeed())
	}
	e.operator(t)
	e.Eventually(func() int { return e.count("seed GET /api/v1/namespaces/" + e.namespace + "/secrets/gardener") }).ShouldNot(BeZero())
	e.Expect(e.asked().Data).To(BeEmpty())
	e.grant(e.kubeconfig)
	e.filled("")
	e.afterReviews(2)
	for _, name := range []string{"of-the-garden", "of-no-class", "of-no-purpose"} {
		e.Expect(e.read(e.seed, name).Data).To(BeEmpty())
	}
}

// A Secret that somebody changes at the same time loses nothing of theirs.
func TestOthersMayWriteAtTheSameTime(t *testing.T) {
	e := newEnv(t)
	e.ask(nil)
	e.operator(t)
	token := e.filled("")
	for i := range 5 {
		asked := e.asked()
		patch := client.MergeFrom(asked.DeepCopy())
		asked.Data = map[string][]byte{keyToken: []byte("nonsense"), string(rune('a' + i)): []byte("theirs")}
		e.Expect(e.seed.Patch(e.ctx, asked, patch)).To(Succeed())
		token = e.filled("nonsense")
	}
	e.Expect(e.whoami(t, token)).To(HaveSuffix(":agent"))
}

// What the page states as an example works as typed, in another namespace.
func TestTheExampleOfThePage(t *testing.T) {
	e := newEnv(t)
	text, err := os.ReadFile("../../../docs/resource-manager.md")
	e.Expect(err).NotTo(HaveOccurred())
	examples := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	secret := &corev1.Secret{}
	e.Expect(yaml.Unmarshal([]byte(examples[len(examples)-1][1]), secret)).To(Succeed())
	secret.Namespace = e.namespace
	e.Expect(e.seed.Create(e.ctx, secret)).To(Succeed())
	e.operator(t)
	e.Expect(e.whoami(t, e.filled(""))).To(Equal("system:serviceaccount:kube-system:agent"))
}
