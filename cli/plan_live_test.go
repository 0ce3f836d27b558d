// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/cli"
	networkcontroller "github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
)

// landscape only starts when a test asks for it.
var landscape = harness.SeedAndShoot()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// live is a seed with its admin's client.
type live struct {
	*WithT
	t          *testing.T
	client     *harness.Cluster
	kubeconfig string
}

// plan calls the command with the noop as this version has it.
func (l *live) plan(args ...string) (exit int, said string) {
	return l.planWith(noop{}, args...)
}

func (l *live) planWith(version plugin.Definition[noopConfig], args ...string) (exit int, said string) {
	l.t.Helper()
	var out, problems bytes.Buffer
	exit = cli.Run(append([]string{"plan", "--live", "--kubeconfig", l.kubeconfig}, args...),
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}, []plugin.Plugin{plugin.New(version)}, nil)
	return exit, out.String() + problems.String()
}

// file is a file with this text.
func (l *live) file(text string) string {
	l.t.Helper()
	name := l.t.TempDir() + "/new.yaml"
	l.Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
	return name
}

func (l *live) create(objects ...client.Object) {
	l.t.Helper()
	for _, object := range objects {
		l.Expect(l.client.Create(l.t.Context(), object)).To(Succeed())
	}
}

// cluster is a namespace with the Cluster of the Shoot garden-dev/mine.
func (l *live) cluster(namespace string) {
	l.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(noopShoot("{}") + "status: {technicalID: " + namespace + "}\n"))
	l.Expect(err).NotTo(HaveOccurred())
	l.create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&extensionsv1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: namespace, Annotations: map[string]string{extensionsv1alpha1.APIServerAnnotation: "api.example.com:443"}},
			Spec:       extensionsv1alpha1.ClusterSpec{CloudProfile: runtime.RawExtension{Raw: []byte("{}")}, Shoot: runtime.RawExtension{Raw: raw}},
		})
}

// network is what a gardenlet makes of that Shoot.
func (l *live) network(namespace, name string) *extensionsv1alpha1.Network {
	l.t.Helper()
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type: "noop", ProviderConfig: &runtime.RawExtension{Raw: []byte("{}")},
			PodCIDR: "100.96.0.0/11", ServiceCIDR: "100.64.0.0/13", IPFamilies: []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4},
		},
	}
	l.create(n)
	return n
}

// operate runs the operator's controller until it has carried out a Network.
func (l *live) operate(n *extensionsv1alpha1.Network) {
	l.t.Helper()
	built, err := pipeline.New([]plugin.Plugin{plugin.New(noop{})}, nil)
	l.Expect(err).NotTo(HaveOccurred())
	gates, errs := built.ResolveFeatureGates(nil, nil)
	l.Expect(errs).To(BeEmpty())
	stop := l.client.Run(l.t, []string{n.Namespace}, nil, func(mgr manager.Manager) error {
		return networkcontroller.Add(mgr, networkcontroller.Options{
			FeatureGates: gates, Shoots: shootclient.New(shootclient.Options{Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader()}),
			Pipeline: built, Trigger: networkcontroller.TriggerGeneration, MaxConcurrentReconciles: 1, Clock: clock.RealClock{},
			Probe: &plugin.Probe{},
		})
	})
	defer stop()
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: "noop", Namespace: n.Namespace}}
	l.client.Await(l.t, mr)
	harness.ChangeStatus(l.t, l.client, mr, harness.Applied)
	l.Eventually(func(g Gomega) {
		g.Expect(l.client.Get(l.t.Context(), client.ObjectKeyFromObject(n), n)).To(Succeed())
		g.Expect(n.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
	}).Should(Succeed())
}

// newNoop is the noop of another version of Trellis.
type newNoop struct{ noop }

func (newNoop) Render(effective *noopConfig, facts *plugin.Input) (plugin.Objects, error) {
	objects, err := noop{}.Render(effective, facts)
	objects.Bundles[0].Objects[1].(*appsv1.DaemonSet).Spec.Template.Spec.Containers[0].Image = "registry.example.com/noop:v2"
	return objects, err
}

func TestAPlanForTheNetworkThatRuns(t *testing.T) {
	shoot := &live{NewWithT(t), t, landscape.Shoot(t), landscape.Get(t).Shoots[0].Kubeconfig}
	exit, said := shoot.plan("-n", "default")
	shoot.Expect(exit).To(Equal(cli.ExitCouldNotPlan))
	shoot.Expect(said).To(ContainSubstring("the cluster does not know Networks (extensions.gardener.cloud/v1alpha1) and is no seed"))

	l := &live{NewWithT(t), t, landscape.Seed(t), landscape.Get(t).Seed.Kubeconfig}
	t.Run("written by Trellis", func(t *testing.T) { l.on(t).writtenByTrellis() })
	t.Run("written by another", func(t *testing.T) { l.on(t).writtenByAnother() })
	t.Run("that cannot be read", func(t *testing.T) { l.on(t).unreadable() })
}

func (l *live) on(t *testing.T) *live { return &live{NewWithT(t), t, l.client, l.kubeconfig} }

func (l *live) writtenByTrellis() {
	const namespace = "shoot--dev--mine"
	l.cluster(namespace)
	n := l.network(namespace, "mine")
	l.operate(n)
	version := n.ResourceVersion
	for name, test := range map[string]struct {
		version plugin.Definition[noopConfig]
		wanted  string // empty: what there is
		exit    int
		says    []string
	}{
		"nothing":        {version: noop{}, exit: cli.ExitOK, says: []string{"no changes\n"}},
		"the same Shoot": {version: noop{}, wanted: noopShoot("{}"), exit: cli.ExitOK, says: []string{"no changes\n"}},
		"an upgrade of Trellis": {version: newNoop{}, exit: cli.ExitChanges, says: []string{
			"-        image: registry.example.com/noop:v1\n", "+        image: registry.example.com/noop:v2\n",
			"1 object to change\n",
		}},
		"a Shoot": {version: noop{}, wanted: noopShoot("{monitored: true}"), exit: cli.ExitChanges, says: []string{
			"change: monitored: safe, ", "+++ after: ConfigMap shoot--dev--mine/noop-dashboard (seed)\n",
			"1 change (safe), 1 object to add\n",
		}},
		"a Network": {
			version: noop{}, exit: cli.ExitDisruptive,
			wanted: strings.NewReplacer("10.1.0.0/16", "100.96.0.0/11", "10.2.0.0/16", "100.64.0.0/13").Replace(network("mine", namespace, `{length: "0"}`)),
			says: []string{
				"warning: spec.providerConfig.length: is deprecated", "change: length: disruptive, from absent to \"0\": ",
				"1 change (disruptive), 1 object to change\n",
			},
		},
		"forbidden": {version: noop{}, wanted: noopShoot("{colour: blue}"), exit: cli.ExitInvalid, says: []string{
			"error: spec.networking.providerConfig.colour: Forbidden: cannot change from red to blue", "refused (1 error): keep ",
		}},
		"another range": {version: noop{}, wanted: network("mine", namespace, `{}`), exit: cli.ExitInvalid, says: []string{
			"error: spec.podCIDR: Forbidden: cannot change from 100.96.0.0/11 to 10.1.0.0/16",
		}},
		"another Shoot": {version: noop{}, wanted: shoot("other", "{type: noop}"), exit: cli.ExitInvalid, says: []string{
			"error: metadata.name: Invalid value: \"other\": this is the Shoot garden-dev/other, but namespace shoot--dev--mine has the Shoot garden-dev/mine; plan compares networks of one cluster",
		}},
		"another cluster's Network": {version: noop{}, wanted: network("mine", "shoot--dev--other", `{}`), exit: cli.ExitInvalid, says: []string{
			"error: metadata.namespace: Invalid value: \"shoot--dev--other\": this is the Network shoot--dev--other/mine, but namespace shoot--dev--mine has the Network shoot--dev--mine/mine",
		}},
		"another Network": {version: noop{}, wanted: network("other", namespace, `{}`), exit: cli.ExitInvalid, says: []string{
			"error: metadata.name: Invalid value: \"other\": this is the Network shoot--dev--mine/other, but namespace shoot--dev--mine has the Network shoot--dev--mine/mine",
		}},
	} {
		l.t.Run(name, func(t *testing.T) {
			l := l.on(t)
			args := []string{"-n", namespace}
			if test.wanted != "" {
				args = append(args, l.file(test.wanted))
			}
			exit, said := l.planWith(test.version, args...)
			for _, part := range test.says {
				l.Expect(said).To(ContainSubstring(part))
			}
			l.Expect(exit).To(Equal(test.exit), said)
		})
	}
	l.Expect(l.client.Get(l.t.Context(), client.ObjectKeyFromObject(n), n)).To(Succeed())
	l.Expect(n.ResourceVersion).To(Equal(version), "a plan writes nothing")

	before := n.DeepCopy()
	n.Status.LastOperation.State = corev1beta1.LastOperationStateProcessing
	l.Expect(l.client.Status().Patch(l.t.Context(), n, client.MergeFrom(before))).To(Succeed())
	exit, said := l.plan("-n", namespace)
	l.Expect(said).To(HavePrefix("warning: status.lastOperation: Create is Processing: the shoot may not have all objects yet\n"))
	l.Expect(exit).To(Equal(cli.ExitOK))

	exit, said = l.plan(l.file(noopShoot("{}")))
	l.Expect(exit).To(Equal(cli.ExitOK), "the namespace is known from NEW: %s", said)
}

// writtenByAnother plans a takeover: of what is the same, and of what differs.
func (l *live) writtenByAnother() {
	const namespace = "shoot--dev--theirs"
	l.cluster(namespace)
	n := l.network(namespace, "mine")
	exit, said := l.plan("-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitChanges), said)
	l.Expect(said).To(HaveSuffix("13 objects to add\n"), "nothing is there yet: two of the network, and eleven of its probe")

	_, objects, _ := call([]string{"render", "--mode", "standalone", "--api-server", "api.example.com:443", "-f", "-"}, noopShoot("{}"))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "managedresource-noop", Namespace: namespace},
		Data:       map[string][]byte{"charts.yaml": []byte(objects)},
	}
	l.create(secret, &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Name: "noop", Namespace: namespace, Labels: map[string]string{"origin": "another"}},
		Spec:       resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{{Name: secret.Name}}},
	})
	exit, said = l.plan("-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitOK), said)

	secret.Data["charts.yaml"] = []byte(strings.ReplaceAll(objects, "noop:v1", "noop:v0") +
		"---\n{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"relic\", \"namespace\": \"kube-system\"}}\n")
	l.Expect(l.client.Update(l.t.Context(), secret)).To(Succeed())
	exit, said = l.plan("-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitDisruptive), said)
	for _, part := range []string{
		"warning: status.state: is empty, since Trellis did not write the present objects; the effect of replacing them is unknown\n",
		"-        image: registry.example.com/noop:v0\n+        image: registry.example.com/noop:v1\n",
		"--- before: ConfigMap kube-system/relic (shoot)\n+++ /dev/null\n",
		"1 object to change, 1 to delete; the effect on traffic is unknown, since Trellis did not write the present objects\n",
	} {
		l.Expect(said).To(ContainSubstring(part))
	}
	exit, said = l.plan("-n", namespace, l.file(noopShoot("{colour: blue}")))
	l.Expect(exit).To(Equal(cli.ExitInvalid), said)
	l.Expect(said).To(ContainSubstring("cannot change from red to blue in a running network"))

	before := n.DeepCopy()
	n.Status.LastOperation = &corev1beta1.LastOperation{
		Type: corev1beta1.LastOperationTypeReconcile, State: corev1beta1.LastOperationStateSucceeded, LastUpdateTime: metav1.Unix(1, 0),
	}
	n.Status.ObservedGeneration = n.Generation
	l.Expect(l.client.Status().Patch(l.t.Context(), n, client.MergeFrom(before))).To(Succeed())
	exit, said = l.plan("-n", namespace, l.file(noopShoot("{colour: green}")))
	l.Expect(exit).To(Equal(cli.ExitInvalid), said)
	l.Expect(said).To(ContainSubstring(`colour: Unsupported value: "green"`), "what is to follow is no running network")
}

func (l *live) unreadable() {
	const namespace = "shoot--dev--broken"
	expect := func(says string, args ...string) {
		l.t.Helper()
		exit, said := l.plan(append([]string{"-n", namespace}, args...)...)
		l.Expect(exit).To(Equal(cli.ExitCouldNotPlan), said)
		l.Expect(said).To(And(HavePrefix("Error: "), ContainSubstring(says), ContainSubstring(landscape.Get(l.t).Seed.Server)))
	}
	expect("namespace shoot--dev--broken has no Network; name the namespace of the shoot's control plane with -n")

	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	n := l.network(namespace, "mine")
	expect("read the Cluster shoot--dev--broken: ")

	raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "spec": []int{7}})
	l.Expect(err).NotTo(HaveOccurred())
	cluster := &extensionsv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec:       extensionsv1alpha1.ClusterSpec{CloudProfile: runtime.RawExtension{Raw: []byte("{}")}, Shoot: runtime.RawExtension{Raw: raw}},
	}
	l.create(cluster)
	expect("decode the Shoot in the Cluster shoot--dev--broken: ")

	cluster.Spec.Shoot.Raw = []byte(`{"spec":{"provider":{"type":"dry"}}}`)
	l.Expect(l.client.Update(l.t.Context(), cluster)).To(Succeed())
	mr := &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Name: "noop", Namespace: namespace},
		Spec:       resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{{Name: "gone"}}},
	}
	l.create(mr)
	expect("read the Secret gone of the ManagedResource noop: ")

	l.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "gone", Namespace: namespace}, Data: map[string][]byte{"a": []byte("kind: [")}})
	expect("decode the ManagedResource noop: Secret gone, key a, document 1: ")

	before := n.DeepCopy()
	n.Status.State = &runtime.RawExtension{Raw: []byte(`{"applied": {"config": "colourful"}}`)}
	l.Expect(l.client.Status().Patch(l.t.Context(), n, client.MergeFrom(before))).To(Succeed())
	expect("status.state of the Network shoot--dev--broken/mine has a config that is no object")

	l.network(namespace, "another")
	expect("namespace shoot--dev--broken has 2 Networks (another, mine)")
	expect("a config that is no object", l.file(network("mine", namespace, "{}")))
}
