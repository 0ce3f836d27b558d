// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/plugintest"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

var landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/hand-made", "garden-dev/charted"}, Nodes: 2})

func TestMain(m *testing.M) {
	if gardenet, ok := variants[os.Getenv(variant)]; ok {
		if err := runOperator(gardenet); err != nil {
			os.Exit(1)
		}
		return
	}
	ctrl.SetLogger(zap.New())
	os.Exit(landscape.Main(m))
}

var variants = map[string]plugin.Plugin{"hand-made": plugin.New(definition{}), "charted": plugin.New(charted{})}

func TestPlugin(t *testing.T) {
	for name, gardenet := range variants {
		t.Run(name, func(t *testing.T) {
			plugintest.Run(t, gardenet, plugintest.NeedsKubeProxy(),
				plugintest.WithAPIServer(restConfig(t, landscape.Get(t).Shoots[0].Kubeconfig)),
				plugintest.Case{Name: "a range", Config: "ipam: {cidr: 10.1.0.0/16}"})
		})
	}
}

func TestInvalidRangesAreRejected(t *testing.T) {
	gardenet := variants["hand-made"]
	for cidr, fine := range map[string]bool{
		"": true, "usePodCIDR": true, "10.1.0.0/16": true,
		"10.1.0.0": false, "10.1.0.1/16": false, "2001:db8::/64": false, "usepodcidr": false, "x": false,
	} {
		t.Run(cidr, func(t *testing.T) {
			g := NewWithT(t)
			found := gardenet.Validate(&NetworkConfig{IPAM: &IPAM{CIDR: cidr}}, &plugin.Input{Facts: plugin.Facts{}}, field.NewPath("spec", "providerConfig"))
			if fine {
				g.Expect(found.Errors).To(BeEmpty())
				return
			}
			g.Expect(found.Errors).To(ConsistOf(HaveField("Field", "spec.providerConfig.ipam.cidr")))
			g.Expect(found.Errors[0].Detail).To(Equal("must be usePodCIDR, or an IPv4 range such as 10.1.0.0/16"))
		})
	}
}

func TestUsersAreToldHowPacketsTravel(t *testing.T) {
	for name, gardenet := range variants {
		for cidr, line := range map[string]string{
			"usePodCIDR":  "no encapsulation; routes by the agents, between nodes in one subnet; NetworkPolicies have no effect",
			"10.1.0.0/16": "no encapsulation; routes by the agents, between nodes in one subnet; NetworkPolicies have no effect",
		} {
			path := gardenet.DescribeDataPath(&NetworkConfig{IPAM: &IPAM{CIDR: cidr}})
			NewWithT(t).Expect(path.In(&plugin.Infrastructure{})).To(Equal(line), name)
		}
	}
}

// Users can validate a config without a cluster.
func TestCommandLine(t *testing.T) {
	gardenet := variants["hand-made"]
	for config, wants := range map[string]struct {
		status int
		output string
	}{
		"{gardenetCustomConfigField: roses}": {cli.ExitOK, ""},
		"{ipam: {type: none}}":               {cli.ExitInvalid, `spec.providerConfig.ipam.type: Unsupported value: "none"`},
	} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			file := filepath.Join(t.TempDir(), "network.yaml")
			g.Expect(os.WriteFile(file, []byte(networkWith(config)), 0o600)).To(Succeed())
			var out, errs bytes.Buffer
			streams := cli.Streams{In: &bytes.Buffer{}, Out: &out, Err: &errs}
			status := cli.Run([]string{"validate", "-f", file}, streams, []plugin.Plugin{gardenet}, providers.All())
			g.Expect(status).To(Equal(wants.status), errs.String())
			g.Expect(out.String() + errs.String()).To(ContainSubstring(wants.output))
		})
	}
}

func networkWith(config string) string {
	return `apiVersion: extensions.gardener.cloud/v1alpha1
kind: Network
metadata: {name: example, namespace: shoot--dev--example}
spec: {type: gardenet, podCIDR: 10.1.0.0/16, serviceCIDR: 10.2.0.0/16, providerConfig: ` + config + `}
`
}

// A Shoot of type gardenet gets its network, with objects written in Go and with a chart.
func TestAShootGetsGardenet(t *testing.T) {
	for name := range variants {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			seed := restConfig(t, landscape.Get(t).Seed.Kubeconfig)
			admin := clientOf(t, seed)
			g.Expect(install.CRDs(t.Context(), admin)).To(Succeed())
			start(t, name)

			shoot := shootNamed(name)
			g.Expect(admin.Create(t.Context(), shoot)).To(Succeed())
			g.Eventually(func(g Gomega) {
				g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot)).To(Succeed())
				g.Expect(shoot.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
			}).WithTimeout(2 * time.Minute).Should(Succeed())
			agents := &appsv1.DaemonSet{}
			inShoot := clientOf(t, restConfig(t, kubeconfigOf(t, name)))
			g.Eventually(func(g Gomega) {
				g.Expect(inShoot.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "gardenet"}, agents)).To(Succeed())
				g.Expect(agents.Status.NumberAvailable).To(BeEquivalentTo(2))
			}).WithTimeout(time.Minute).Should(Succeed())

			g.Expect(admin.Delete(t.Context(), shoot)).To(Succeed())
			g.Eventually(func() error {
				return client.IgnoreNotFound(admin.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot))
			}).WithTimeout(2 * time.Minute).Should(Succeed())
		})
	}
}

// variant is an environment variable with the name of a plugin. If it is set, the test program
// runs an operator with that plugin.
const variant = "GARDENET_VARIANT"

func runOperator(gardenet plugin.Plugin) error {
	config, err := configv1alpha1.Load([]byte(`{metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"}, shootClientConnection: {allowedAddresses: [127.0.0.0/8]}}`))
	if err != nil {
		return err
	}
	return operator.Run(ctrl.SetupSignalHandler(), operator.Options{
		Plugins: []plugin.Plugin{gardenet}, Config: config, Seed: ctrl.GetConfigOrDie(), Log: zap.New(),
	})
}

// start starts the operator, and stops it after the test.
func start(t *testing.T, name string) {
	g := NewWithT(t)
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), variant+"="+name, "KUBECONFIG="+landscape.Get(t).Seed.Kubeconfig)
	program.Stderr = os.Stderr
	g.Expect(program.Start()).To(Succeed())
	t.Cleanup(func() {
		g.Expect(program.Process.Signal(syscall.SIGTERM)).To(Succeed())
		g.Expect(program.Wait()).To(Succeed())
	})
}

func shootNamed(name string) *corev1beta1.Shoot {
	networkType, pods, services := "gardenet", "100.96.0.0/11", "100.64.0.0/13"
	shoot := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-dev", Name: name}}
	shoot.Spec.Provider = corev1beta1.Provider{Type: "local", Workers: []corev1beta1.Worker{{Name: "one", Minimum: 2, Maximum: 2}}}
	shoot.Spec.Kubernetes.Version = "1.36.3"
	shoot.Spec.Networking = &corev1beta1.Networking{Type: &networkType, Pods: &pods, Services: &services}
	return shoot
}

func kubeconfigOf(t *testing.T, name string) string {
	for _, shoot := range landscape.Get(t).Shoots {
		if shoot.Name == name {
			return shoot.Kubeconfig
		}
	}
	t.Fatalf("there is no shoot %s", name)
	return ""
}

func restConfig(t *testing.T, kubeconfig string) *rest.Config {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return config
}

func clientOf(t *testing.T, config *rest.Config) client.Client {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, apiextensionsv1.AddToScheme, corev1beta1.AddToScheme, extensionsv1alpha1.AddToScheme,
	} {
		g.Expect(add(scheme)).To(Succeed())
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}
