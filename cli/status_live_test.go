// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugin"
)

func seedOf(t *testing.T) *live {
	return &live{NewWithT(t), t, landscape.Seed(t), landscape.Get(t).Seed.Kubeconfig}
}

// run calls a command with the seed's kubeconfig.
func (l *live) run(args ...string) (exit int, stdout, stderr string) {
	l.t.Helper()
	return call(append(args, "--kubeconfig", l.kubeconfig), "")
}

// becomes writes the status of a Network as an operator does.
func (l *live) becomes(n *extensionsv1alpha1.Network, healthy corev1beta1.ConditionStatus) {
	l.t.Helper()
	l.Expect(l.client.Get(l.t.Context(), client.ObjectKeyFromObject(n), n)).To(Succeed())
	before := n.DeepCopy()
	n.Status.ObservedGeneration = n.Generation
	n.Status.LastOperation = &corev1beta1.LastOperation{
		Type: corev1beta1.LastOperationTypeCreate, State: corev1beta1.LastOperationStateSucceeded, Description: "done", LastUpdateTime: metav1.Now(),
	}
	n.Status.Conditions = []corev1beta1.Condition{{
		Type: "SystemComponentsHealthy", Status: healthy, Message: "it is \x1b[31m" + string(healthy), LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now(),
	}}
	n.Status.State = &runtime.RawExtension{Raw: []byte(`{"applied": {"config": {"colour": "red", "length": "5"}}, "components": [{"name": "nodes", "kind": "DaemonSet"}]}`)}
	n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"components": {"nodes": true}}`)}
	l.Expect(l.client.Status().Patch(l.t.Context(), n, client.MergeFrom(before))).To(Succeed())
}

func TestTheStatusOfTheNetworksOfASeed(t *testing.T) {
	l := seedOf(t)
	namespace := l.client.Namespace(t, "status-")
	mine, other := l.network(namespace, "mine"), l.network(namespace, "other")
	l.becomes(mine, corev1beta1.ConditionTrue)

	exit, shown, problems := l.run("status", "mine", "-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitOK), problems)
	l.Expect(shown).To(And(
		HavePrefix(namespace+"/mine  noop  healthy\n"), ContainSubstring("1, applied"), ContainSubstring("packets       on foot; routes by hand"),
		ContainSubstring(`it is \u001b[31mTrue`), Not(ContainSubstring("\x1b"))))

	exit, shown, _ = l.run("status", "-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitInvalid), "the other one was not carried out yet")
	l.Expect(shown).To(ContainSubstring("\n\n" + namespace + "/other  noop  waiting\n"))

	l.becomes(other, corev1beta1.ConditionFalse)
	exit, shown, _ = l.run("status", "-A", "-o", "json")
	l.Expect(exit).To(Equal(cli.ExitInvalid))
	var content struct {
		Networks []struct{ Namespace, Name, State, DataPath string }
	}
	l.Expect(json.Unmarshal([]byte(shown), &content)).To(Succeed())
	l.Expect(content.Networks).To(ContainElements(
		HaveField("DataPath", "on foot; routes by hand"), And(HaveField("Name", "other"), HaveField("State", "unhealthy"))))
	for _, format := range []string{"json", "yaml"} {
		_, shown, _ = l.run("status", "-n", namespace, "-o", format)
		l.Expect(shown).To(And(ContainSubstring("unhealthy"), Not(ContainSubstring("\x1b"))))
	}
}

func TestAStatusThatCannotBeShown(t *testing.T) {
	l := seedOf(t)
	namespace, empty := l.client.Namespace(t, "status-"), l.client.Namespace(t, "status-")
	name := "unique-" + namespace
	l.network(namespace, name)
	fails := func(says string, args ...string) {
		t.Helper()
		exit, shown, problems := l.run(args...)
		l.Expect(exit).To(Equal(cli.ExitCouldNotRun), shown)
		l.Expect(shown).To(BeEmpty())
		l.Expect(problems).To(And(HavePrefix("Error: "), ContainSubstring(says)))
	}
	fails("did you mean "+name+"?", "status", "x"+name[1:], "-n", namespace)
	fails(`has no Network "quite-another", but `+name, "status", "quite-another", "-n", namespace)
	fails("there is one in "+namespace+": pass -n", "status", name, "-n", empty)
	fails("name the namespace of a shoot's control plane with -n, or pass -A", "status", "nowhere-at-all", "-n", empty)

	shoot := *l
	shoot.kubeconfig = landscape.Get(t).Shoots[0].Kubeconfig
	exit, _, problems := shoot.run("status", "-A")
	l.Expect(exit).To(Equal(cli.ExitCouldNotRun))
	l.Expect(problems).To(ContainSubstring("is no seed; name a seed with --kubeconfig or --context"))

	stranger := *l
	stranger.kubeconfig = l.as("stranger")
	exit, _, problems = stranger.run("status", "-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitCouldNotRun))
	l.Expect(problems).To(ContainSubstring("the user must have the right to list networks.extensions.gardener.cloud in namespace " + namespace))
}

// as is a kubeconfig of another user.
func (l *live) as(user string) string {
	l.t.Helper()
	config, err := clientcmd.LoadFromFile(l.kubeconfig)
	l.Expect(err).NotTo(HaveOccurred())
	for _, each := range config.AuthInfos {
		each.Impersonate = user
	}
	name := l.t.TempDir() + "/kubeconfig"
	l.Expect(clientcmd.WriteToFile(*config, name)).To(Succeed())
	return name
}

func TestWithoutAKubeconfigThereIsNoStatus(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	t.Setenv("HOME", t.TempDir())
	runAll(t, []script{
		{name: "none", args: "status", exit: 2, stderr: "Error: no kubeconfig of a seed: name one with --kubeconfig, or in $KUBECONFIG\n"},
		{name: "a missing one", args: "status --kubeconfig gone", exit: 2, stderr: "~Error: load the kubeconfig of the seed: stat gone: no such file or directory"},
		{name: "two namespaces", args: "status -A -n x", exit: 2, stderr: "~[all-namespaces namespace] were all set"},
		{name: "an unknown format", args: "status -o xml", exit: 2, stderr: "~must be text or json or yaml"},
	})
}

// printed is what a command has printed so far.
type printed struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (p *printed) Write(text []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.text.Write(text)
}

func (p *printed) String() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.text.String()
}

// watched runs status --watch. end closes the output and returns once the command, which
// notices that with the next change, has ended.
func (l *live) watched(to, problems io.Writer, args ...string) (exit chan int) {
	exit = make(chan int, 1)
	go func() {
		exit <- cli.Run(append([]string{"status", "--watch", "--kubeconfig", l.kubeconfig}, args...),
			cli.Streams{In: strings.NewReader(""), Out: to, Err: problems}, []plugin.Plugin{plugin.New(noop{})}, nil)
	}()
	return exit
}

func TestAWatchPrintsWhatChanges(t *testing.T) {
	l := seedOf(t)
	namespace := l.client.Namespace(t, "status-")
	n, gone := l.network(namespace, "mine"), l.network(namespace, "other")
	reader, writer := io.Pipe()
	var so printed
	go func() { _, _ = io.Copy(&so, reader) }()
	exit := l.watched(writer, io.Discard, "-n", namespace)
	l.Eventually(so.String).Should(And(ContainSubstring("/mine  noop  waiting\n"), ContainSubstring("/other  noop  waiting\n")))
	l.becomes(n, corev1beta1.ConditionTrue)
	l.Eventually(so.String).Should(ContainSubstring("/mine  noop  healthy\n"))
	l.Expect(l.client.Delete(t.Context(), gone)).To(Succeed())
	l.Eventually(so.String).Should(ContainSubstring(namespace + "/other  gone\n"))
	l.Expect(strings.Count(so.String(), "/other  noop")).To(Equal(1), "what has not changed is not repeated")
	l.Expect(so.String()).NotTo(ContainSubstring("\x1b"))

	l.Expect(reader.Close()).To(Succeed())
	l.becomes(n, corev1beta1.ConditionFalse)
	l.Eventually(exit).Should(Receive(Equal(cli.ExitCouldNotRun)), "the reader is gone")
}

func TestAWatchWaitsForTheFirstNetwork(t *testing.T) {
	l := seedOf(t)
	namespace := l.client.Namespace(t, "status-")
	reader, writer := io.Pipe()
	var so, problems printed
	go func() { _, _ = io.Copy(&so, reader) }()
	exit := l.watched(writer, &problems, "-n", namespace)
	l.Eventually(problems.String).Should(And(
		HavePrefix("namespace "+namespace+" has no Network; "), HaveSuffix("; status waits for one\n")))
	n := l.network(namespace, "first")
	l.Eventually(so.String).Should(ContainSubstring("/first  noop  waiting\n"))

	l.Expect(reader.Close()).To(Succeed())
	l.becomes(n, corev1beta1.ConditionFalse)
	l.Eventually(exit).Should(Receive(Equal(cli.ExitCouldNotRun)), "the reader is gone")
}

func TestAWatchOnATerminalDrawsAnew(t *testing.T) {
	l := seedOf(t)
	namespace := l.client.Namespace(t, "status-")
	n := l.network(namespace, "mine")
	master, slave := newTerminal(t, 60, 8)
	var so printed
	go func() { _, _ = io.Copy(&so, master) }()
	exit := l.watched(slave, io.Discard, "-n", namespace)
	l.Eventually(so.String).Should(And(HavePrefix("\x1b[H"), ContainSubstring("/mine  noop  waiting\x1b[K")))
	l.becomes(n, corev1beta1.ConditionFalse)
	l.Eventually(so.String).Should(And(ContainSubstring("/mine  noop  unhealthy\x1b[K"), ContainSubstring("more line")))
	for screen := range strings.SplitSeq(so.String(), "\x1b[H") {
		lines := strings.Split(strings.NewReplacer("\x1b[K", "", "\x1b[J", "", "\r", "").Replace(screen), "\n")
		l.Expect(len(lines)).To(BeNumerically("<=", 8), "the terminal has no more lines")
		for _, line := range lines {
			l.Expect(len([]rune(line))).To(BeNumerically("<=", 60), line)
			l.Expect(line).NotTo(ContainSubstring("\x1b"))
		}
	}
	l.Expect(master.Close()).To(Succeed())
	l.becomes(n, corev1beta1.ConditionTrue)
	l.Eventually(exit).Should(Receive(Equal(cli.ExitCouldNotRun)), "the terminal is gone")
}
