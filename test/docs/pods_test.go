// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

var onRealNodes = flag.Bool("realnodes", false, "run the pods of the charts on a real node; make e2e-guides sets it")

// The guide's commands make images and charts, and install them in a cluster whose node has a kubelet and
// containerd. There the pods become ready, and the operator gives a Shoot its network. The cluster is that
// of a shoot, which has a network already, and is the Shoot's cluster, too.
func TestThePodsOfTheChartsRunOnARealNode(t *testing.T) {
	if !*onRealNodes {
		t.Skip("make e2e-guides runs this: it needs root, and the programs of real nodes")
	}
	g := NewWithT(t)
	programs, err := sandbox.NodePrograms()
	g.Expect(err).NotTo(HaveOccurred())
	box := sandbox.ForTest(t, sandbox.Options{
		Shoots: []string{"garden-dev/flannel"}, Users: []string{standalone.User},
		Real: &sandbox.RealNodes{Programs: programs, Images: imagesOf(t, "docs/install-standalone.md", "trellis-operator", "trellis-admission")},
	})
	i := newInstallation(t, box, "./test/docs/helm")
	i.kubeconfig = box.Shoots[0].Kubeconfig
	i.getsFlannel()

	i.follow("docs/install-standalone.md")
	i.succeeds("kubectl -n trellis-system rollout status deployment/trellis-operator --timeout=3m")
	i.succeeds("kubectl -n trellis-system rollout status deployment/trellis-admission --timeout=3m")
	i.succeeds("kubectl wait --for=create --timeout=2m validatingwebhookconfiguration/trellis-admission mutatingwebhookconfiguration/trellis-admission")
	i.Expect(i.succeeds("kubectl -n trellis-system get pods -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}'")).To(Equal("0 0 0 0"))

	// This machine, on which the API server runs, reaches no Service of the cluster.
	i.succeeds("kubectl -n trellis-system scale deployment/trellis-admission --replicas=0")
	i.succeeds("kubectl -n trellis-system wait --for=delete pod -l app=trellis-admission --timeout=2m")
	commands := blocks(t, "docs/admission.md", "console")
	i.Expect(commands).To(ContainElement(HavePrefix("$ kubectl delete ")))
	for _, command := range commands {
		if toDelete, is := strings.CutPrefix(command, "$ kubectl delete "); is {
			i.succeeds("kubectl delete " + toDelete)
		}
	}
	example, err := filepath.Abs(filepath.Join(root, "examples", "shoot-calico-overlay.yaml"))
	i.Expect(err).NotTo(HaveOccurred())
	i.succeeds(`kubectl create namespace garden-dev
kubectl config view --raw --minify | sed 's#server: .*#server: https://kubernetes.default.svc#' > seen-by-pods.kubeconfig
kubectl -n garden-dev create secret generic overlay-on.kubeconfig --from-file=kubeconfig=seen-by-pods.kubeconfig
kubectl apply -f ` + example + `
kubectl -n garden-dev wait shoot/overlay-on --for=jsonpath='{.status.lastOperation.state}'=Succeeded --timeout=5m
kubectl -n kube-system get daemonset/calico-node`)
}

// imagesOf makes the images of a guide, with its own command, and returns the archives of some.
func imagesOf(t *testing.T, document string, programs ...string) (archives []string) {
	t.Helper()
	g, folder := NewWithT(t), t.TempDir()
	makes, _ := makesOf(strings.Join(blocks(t, document, "sh"), "\n"))
	g.Expect(makes).To(HaveLen(1))
	arguments := append(strings.Fields(strings.Replace(makes[0], " charts ", " ", 1))[1:],
		"IMAGES="+folder, "ARCHITECTURES="+runtime.GOARCH, "IMAGE_PROGRAMS="+strings.Join(programs, " "))
	command := exec.CommandContext(t.Context(), "make", arguments...)
	command.Dir = root
	output, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	for _, program := range programs {
		archives = append(archives, filepath.Join(folder, program+"-"+runtime.GOARCH+".tar"))
	}
	return archives
}

// getsFlannel gives the cluster a network for its pods, by an operator of another seed, which then ends.
func (i *installation) getsFlannel() {
	i.t.Helper()
	other, err := standalone.Install(i.t.Context(), i.box)
	i.Expect(err).NotTo(HaveOccurred())
	stop, err := other.Operate(logr.Discard())
	i.Expect(err).NotTo(HaveOccurred())
	defer func() { i.Expect(stop()).To(Succeed()) }()
	shoot, err := other.Shoot(0)
	i.Expect(err).NotTo(HaveOccurred())
	document, err := os.ReadFile(filepath.Join(root, "examples", "shoot-flannel.yaml"))
	i.Expect(err).NotTo(HaveOccurred())
	flannel := &unstructured.Unstructured{}
	i.Expect(yaml.Unmarshal(document, &flannel.Object)).To(Succeed())
	i.Expect(shoot.Apply(i.t.Context(), flannel)).To(Succeed())
	i.succeeds("kubectl wait node --all --for=condition=Ready --timeout=5m")
}

// succeeds runs a script that must succeed, and returns what it prints.
func (i *installation) succeeds(script string) string {
	i.t.Helper()
	output, err := i.shell(script)
	i.Expect(err).NotTo(HaveOccurred(), func() string {
		state, _ := i.shell("kubectl get pods -A -o wide; kubectl -n trellis-system describe pods; kubectl -n trellis-system logs deployment/trellis-operator --tail=30; kubectl -n garden-dev get shoots -o yaml")
		return script + "\n" + output + "\n" + state
	})
	return output
}
