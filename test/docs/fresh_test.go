// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/test/sandbox"
)

// In a seed that has nothing but what the guide's commands install, each Shoot of Gardener's documents
// gets a network whose components become healthy, and the admission refuses the broken one. The sandbox
// runs no pods in its seed, so the programs run here, as the charts' Deployments say.
func TestTheShootsOfTheDocumentsRunOnASeedWithTheChartsAlone(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "examples", "shoot-*.yaml"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	type example struct {
		file   string
		shoot  metav1.PartialObjectMetadata
		cilium bool
	}
	examples := map[string]example{}                                // by NAMESPACE/NAME
	options := sandbox.Options{Nodes: 1, Timeout: 10 * time.Minute} // a dozen API servers on a busy machine
	for _, file := range files {
		content, err := os.ReadFile(file)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		one := example{cilium: strings.Contains(string(content), "type: cilium")}
		one.file, err = filepath.Abs(file)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(yaml.Unmarshal(content, &one.shoot)).To(Succeed())
		key := one.shoot.Namespace + "/" + one.shoot.Name
		examples[key] = one
		options.Shoots = append(options.Shoots, key)
	}
	NewWithT(t).Expect(len(examples)).To(BeNumerically(">", 10))
	i := newInstallation(t, sandbox.ForTest(t, options), "./test/docs/helm", "./cmd/trellis-operator", "./cmd/trellis-admission")
	i.follow("docs/install-standalone.md")
	operator := i.runs("trellis-operator")
	i.runs("trellis-admission")

	broken, err := filepath.Abs(filepath.Join(root, "examples", "broken.yaml"))
	i.Expect(err).NotTo(HaveOccurred())
	i.Eventually(func() string {
		output, _ := i.shell("kubectl apply --dry-run=server -f " + broken)
		return output
	}).WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(And(
		ContainSubstring("spec.networking.providerConfig.backend"), ContainSubstring("spec.networking.providerConfig.vethMTU")))
	for _, shoot := range i.box.Shoots {
		one := examples[shoot.Namespace+"/"+shoot.Name]
		script := "kubectl apply -f " + one.file
		if one.cilium {
			script += "\nkubectl --kubeconfig " + shoot.Kubeconfig + " apply -f - <<'EOF'\n" + ofCilium + "EOF\n"
		}
		output, err := i.shell(script)
		i.Expect(err).NotTo(HaveOccurred(), output)
	}
	for _, one := range examples {
		name, namespace := one.shoot.Name, one.shoot.Namespace
		wait := "kubectl wait --timeout=3m -n "
		network := "shoot--" + strings.TrimPrefix(namespace, "garden-") + "--" + name + " network/" + name
		output, err := i.shell(wait + namespace + " shoot/" + name + " --for=jsonpath='{.status.lastOperation.state}'=Succeeded\n" +
			wait + network + " --for=jsonpath='{.status.lastOperation.state}'=Succeeded\n" +
			wait + network + " --for=condition=SystemComponentsHealthy")
		i.Expect(err).NotTo(HaveOccurred(), func() string {
			status, _ := i.shell("kubectl get -o yaml -n " + network)
			return output + status
		})
	}
	i.Expect(operator()).NotTo(ContainSubstring("forbidden"), "the operator lacks no right")
}

// ofCilium is a kind that Cilium's operator makes once it runs in a shoot: simulated nodes run no program.
const ofCilium = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ciliumnetworkpolicies.cilium.io}
spec:
  group: cilium.io
  scope: Namespaced
  names: {kind: CiliumNetworkPolicy, plural: ciliumnetworkpolicies}
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// runs runs the program of a Deployment as a kubelet would, until the test ends: with its arguments, the
// token of its service account, and its ConfigMap. What differs is that other programs have the ports,
// that the shoots are on this machine, and that no Service leads here. log stops the program and returns
// what it has logged.
func (i *installation) runs(deployment string) (log func() string) {
	i.t.Helper()
	read := func(into any, what string) {
		i.t.Helper()
		output, err := i.shell("kubectl -n trellis-system get " + what + " -o json")
		i.Expect(err).NotTo(HaveOccurred(), output)
		i.Expect(json.Unmarshal([]byte(output), into)).To(Succeed())
	}
	found := &appsv1.Deployment{}
	read(found, "deployment/"+deployment)
	pod := found.Spec.Template.Spec
	home := i.t.TempDir()
	args := slices.Clone(pod.Containers[0].Args)
	for _, volume := range pod.Volumes {
		if volume.ConfigMap == nil {
			continue
		}
		files := &corev1.ConfigMap{}
		read(files, "configmap/"+volume.ConfigMap.Name)
		config, err := configv1alpha1.Load([]byte(files.Data["config.yaml"]))
		i.Expect(err).NotTo(HaveOccurred())
		config.Metrics.BindAddress, config.HealthProbes.BindAddress = "0", "0"
		config.ShootClientConnection.AllowedAddresses = []string{"127.0.0.0/8"}
		content, err := yaml.Marshal(config)
		i.Expect(err).NotTo(HaveOccurred())
		i.Expect(os.WriteFile(filepath.Join(home, "config.yaml"), content, 0o600)).To(Succeed())
	}
	for index, arg := range args {
		if strings.HasPrefix(arg, "--service=") {
			free, err := net.Listen("tcp", "127.0.0.1:0")
			i.Expect(err).NotTo(HaveOccurred())
			i.Expect(free.Close()).To(Succeed())
			args[index] = "--url=https://" + free.Addr().String()
			args = append(args, "--bind-address="+free.Addr().String(), "--metrics-bind-address=0", "--health-probe-bind-address=0")
		}
		args[index] = strings.ReplaceAll(args[index], cmp.Or(mountPath(pod), home), home)
	}
	kubeconfig := filepath.Join(home, "kubeconfig")
	output, err := i.shell("cp \"$KUBECONFIG\" " + kubeconfig + "\nchmod 600 " + kubeconfig + "\ntoken=$(kubectl -n trellis-system create token " + pod.ServiceAccountName + ")\n" +
		"kubectl --kubeconfig " + kubeconfig + " config set-credentials pod --token=\"$token\"\n" +
		"kubectl --kubeconfig " + kubeconfig + " config set-context --current --user=pod")
	i.Expect(err).NotTo(HaveOccurred(), output)

	command := exec.Command(filepath.Join(i.folder, "path", deployment), append(args, "--kubeconfig="+kubeconfig)...)
	command.Env = append(os.Environ(), "LEADER_ELECTION_NAMESPACE=trellis-system") // of the pod
	var logged bytes.Buffer
	command.Stdout, command.Stderr = &logged, &logged
	i.Expect(command.Start()).To(Succeed())
	stopped := false
	log = func() string {
		if !stopped {
			stopped = true
			_ = command.Process.Signal(syscall.SIGTERM)
			if err := command.Wait(); err != nil {
				i.t.Errorf("%s ended with %v:\n%s", deployment, err, logged.String())
			}
		}
		return logged.String()
	}
	i.t.Cleanup(func() {
		if text := log(); i.t.Failed() {
			i.t.Logf("%s:\n%s", deployment, text[max(0, len(text)-10000):])
		}
	})
	return log
}

// mountPath returns where the first volume of a pod is mounted, if it has any.
func mountPath(pod corev1.PodSpec) string {
	for _, mount := range pod.Containers[0].VolumeMounts {
		return mount.MountPath
	}
	return ""
}
