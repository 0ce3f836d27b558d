// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/admission"
	"github.com/trellis-network/trellis/config"
	"github.com/trellis-network/trellis/test/harness"
)

// program returns the path of the built program, in the folder of the sandbox.
func program(t *testing.T) string {
	t.Helper()
	file := filepath.Join(landscape.Get(t).Dir, "trellis-admission")
	built.Do(func() {
		output, err := exec.Command("go", "build", "-o", file, "../../cmd/trellis-admission").CombinedOutput()
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(output))
	})
	return file
}

var built sync.Once

// grants gives a subject the rights in config/rbac/admission: those in the garden, and those in a
// namespace of the runtime cluster.
func (g *garden) grants(inGarden, inRuntime rbacv1.Subject, runtime *harness.Cluster) {
	g.t.Helper()
	binding := metav1.ObjectMeta{GenerateName: "admission-"}
	for _, c := range []*harness.Cluster{g.Cluster, runtime} {
		for _, file := range []string{"garden", "namespace"} {
			document, err := config.Manifests.ReadFile("rbac/admission/" + file + ".yaml")
			g.Expect(err).NotTo(HaveOccurred())
			role := &rbacv1.ClusterRole{}
			g.Expect(yaml.UnmarshalStrict(document, role)).To(Succeed())
			g.Expect(client.IgnoreAlreadyExists(c.Create(g.t.Context(), role))).To(Succeed())
		}
	}
	g.Expect(g.Create(g.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: binding, Subjects: []rbacv1.Subject{inGarden},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "trellis-admission"},
	})).To(Succeed())
	binding.Namespace = g.namespace
	g.Expect(runtime.Create(g.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: binding, Subjects: []rbacv1.Subject{inRuntime},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "trellis-admission-namespace"},
	})).To(Succeed())
}

// account makes a service account in a cluster, and returns it with a token of it.
func (g *garden) account(c *harness.Cluster) (rbacv1.Subject, string) {
	g.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "trellis-admission", Namespace: g.namespace}}
	g.Expect(c.Create(g.t.Context(), account)).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	g.Expect(c.SubResource("token").Create(g.t.Context(), account, request)).To(Succeed())
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}, request.Status.Token
}

// tokenFile returns the user of a kubeconfig with a token in a file, as a kubelet projects it.
func tokenFile(t *testing.T, token string) string {
	file := filepath.Join(t.TempDir(), "token")
	NewWithT(t).Expect(os.WriteFile(file, []byte(token), 0o600)).To(Succeed())
	return fmt.Sprintf("{tokenFile: %q}", file)
}

// whoAmI returns the user that the garden takes the bearer of a token for.
func (g *garden) whoAmI(token string) (string, error) {
	g.t.Helper()
	config := rest.AnonymousClientConfig(g.Config)
	config.BearerToken = token
	bearer, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return "", err
	}
	review, err := bearer.SelfSubjectReviews().Create(g.t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// The program with nothing but the rights that the documents give it.
func TestTheProgramConnectsAsEachDeploymentDoes(t *testing.T) {
	user := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "admission-user"}
	for name, connect := range map[string]func(g *garden, runtime *harness.Cluster) (flags []string, secretIn *harness.Cluster){
		"a projected token of the garden": func(g *garden, _ *harness.Cluster) ([]string, *harness.Cluster) {
			account, token := g.account(g.Cluster)
			g.grants(account, account, g.Cluster)
			return []string{"--kubeconfig", kubeconfig(g.t, g.Config, tokenFile(g.t, token))}, g.Cluster
		},
		"a token of a virtual garden": func(g *garden, runtime *harness.Cluster) ([]string, *harness.Cluster) {
			inGarden, token := g.account(g.Cluster)
			inRuntime, own := g.account(runtime)
			g.grants(inGarden, inRuntime, runtime)
			return []string{"--kubeconfig", kubeconfig(g.t, g.Config, fmt.Sprintf("{token: %q}", token)),
				"--runtime-kubeconfig", kubeconfig(g.t, runtime.Config, tokenFile(g.t, own))}, runtime
		},
		"a client certificate of a virtual garden": func(g *garden, runtime *harness.Cluster) ([]string, *harness.Cluster) {
			inRuntime, own := g.account(runtime)
			g.grants(user, inRuntime, runtime)
			return []string{"--kubeconfig", landscape.Get(g.t).Seed.Users[user.Name],
				"--runtime-kubeconfig", kubeconfig(g.t, runtime.Config, tokenFile(g.t, own))}, runtime
		},
		"a token of an issuer that a virtual garden trusts": func(g *garden, runtime *harness.Cluster) ([]string, *harness.Cluster) {
			inRuntime, own := g.account(runtime)
			pod := "system:serviceaccount:" + g.namespace + ":trellis-admission"
			inGarden := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: foreignPrefix + pod}
			g.grants(inGarden, inRuntime, runtime)
			token := trusted.token(g.t, pod, gardenAudience)
			g.Eventually(func() (string, error) { return g.whoAmI(token) }).Should(Equal(inGarden.Name), "the garden must have read the issuer's keys")
			_, err := g.whoAmI(trusted.token(g.t, pod, "another-garden"))
			g.Expect(apierrors.IsUnauthorized(err)).To(BeTrue(), "%v", err)
			return []string{"--kubeconfig", kubeconfig(g.t, g.Config, tokenFile(g.t, token)),
				"--runtime-kubeconfig", kubeconfig(g.t, runtime.Config, tokenFile(g.t, own))}, runtime
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := setup(t)
			runtime := landscape.Shoot(t)
			g.Expect(runtime.Create(t.Context(), namespaceNamed(g.namespace))).To(Succeed())
			flags, secretIn := connect(g, runtime)
			g.runs(exec.Command("env"), flags...)
			g.isAsked()
			g.isAskedForDefaults()
			secrets := &corev1.SecretList{}
			g.Expect(secretIn.List(t.Context(), secrets, client.InNamespace(g.namespace))).To(Succeed())
			g.Expect(secrets.Items).To(ConsistOf(HaveField("Name", admission.DefaultName)))
		})
	}
}

// The token that a kubelet mounts into a pod, for a process in a mount namespace of its own.
func TestTheProgramConnectsWithTheTokenOfItsPod(t *testing.T) {
	const mounted = "/run/secrets/kubernetes.io/serviceaccount"
	unshare, err := exec.LookPath("unshare")
	if err == nil {
		err = exec.Command(unshare, "--mount", "--map-root-user", "mount", "-t", "tmpfs", "tmpfs", "/run").Run()
	}
	if err != nil {
		t.Skip("a process must be able to make a mount namespace: ", err)
	}
	if target, err := filepath.EvalSymlinks("/var/run"); err != nil || target != "/run" {
		t.Skip("/var/run must be a link to /run")
	}
	g := setup(t)
	account, token := g.account(g.Cluster)
	g.grants(account, account, g.Cluster)
	server, err := url.Parse(g.Config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	folder := t.TempDir()
	for name, content := range map[string]string{"token": token, "ca.crt": string(g.Config.CAData), "namespace": g.namespace} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600)).To(Succeed())
	}
	inPod := exec.Command(unshare, "--mount", "--map-root-user", "bash", "-c",
		`mount -t tmpfs tmpfs /run && mkdir -p `+mounted+` && cp "$0"/* `+mounted+` && exec "$@"`, folder)
	inPod.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port())
	g.runs(inPod, "--mode", "standalone")
	g.isAsked()
}

// runs runs the program by a command that takes a command line, until the test ends.
func (g *garden) runs(command *exec.Cmd, flags ...string) {
	g.t.Helper()
	file := program(g.t)
	address := g.freeAddress()
	command.Args = append(command.Args, append([]string{file,
		"--namespace", g.namespace, "--url", "https://" + address, "--bind-address", address,
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0"}, flags...)...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	g.Expect(command.Start()).To(Succeed())
	g.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil || g.t.Failed() {
			g.t.Errorf("the program ended with %v:\n%s", err, output.String())
		}
		for _, each := range configurations() {
			g.Expect(client.IgnoreNotFound(g.Delete(context.Background(), each))).To(Succeed())
		}
	})
}

// The API server of the cluster in which the admission runs calls it through a Service, by whose
// name it checks the certificate.
func TestTheGardenCallsTheAdmissionThroughAService(t *testing.T) {
	g := setup(t)
	options := g.options(g.Service(t, g.namespace, "hooks"))
	options.URL, options.Service = "", "hooks"
	g.start(options)
	g.isAsked()
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: admission.DefaultName}}
	g.Read(t, validating)
	g.Expect(validating.Webhooks[0].ClientConfig).To(And(HaveField("URL", BeNil()), HaveField("Service.Name", "hooks")))
}
