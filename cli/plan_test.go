// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// fromTo are the files of a plan.
func fromTo(old, next string) map[string]string {
	return map[string]string{"old.yaml": old, "new.yaml": next}
}

// noopShoot is a Shoot with a noop of this config.
func noopShoot(config string) string {
	return shoot("mine", "{type: noop, providerConfig: "+config+"}")
}

const lengthIgnored = "warning: new.yaml: spec.networking.providerConfig.length: is deprecated and has no effect\n"

func TestAPlanSaysHowGraveItIs(t *testing.T) {
	const args = "plan old.yaml new.yaml"
	runAll(t, []script{
		{
			name: "nothing changes", args: args, exit: cli.ExitOK,
			files: fromTo(noopShoot("{}"), noopShoot("{colour: red}")), stdout: "no changes\n",
		},
		{
			name: "safe", args: args, exit: cli.ExitChanges,
			files: fromTo(noopShoot("{}"), noopShoot("{monitored: true}")),
			stdout: `
change: monitored: safe, from absent to true: only adds a dashboard

--- /dev/null
+++ after: ConfigMap shoot--dev--mine/noop-dashboard (seed)
@@ -0,0 +1,7 @@
+apiVersion: v1
+data:
+  title: Noop
+kind: ConfigMap
+metadata:
+  name: noop-dashboard
+  namespace: shoot--dev--mine

1 change (safe), 1 object to add
`,
		},
		{
			name: "rolling", args: args, exit: cli.ExitChanges,
			files: fromTo(noopShoot("{}"), noopShoot(`{length: "9"}`)),
			stdout: "\n" + lengthIgnored + `change: length: rolling, from absent to "9": the agents restart

--- before: DaemonSet.apps kube-system/noop (shoot)
+++ after: DaemonSet.apps kube-system/noop (shoot)
@@ -19,6 +19,7 @@
         - --kubernetes=1.36.3
         - --fast=false
         - --safe=true
+        - --length=9
         image: registry.example.com/noop:v1
         name: noop
       serviceAccountName: system:noop

1 change (rolling), 1 object to change
`,
		},
		{
			name: "disruptive, disruptive changes first", args: args, exit: cli.ExitDisruptive,
			files: fromTo(noopShoot(`{monitored: true, length: "9"}`), noopShoot(`{length: "0"}`)),
			stdout: `~change: length: disruptive, from "9" to "0": traffic stops
				change: monitored: safe, from true to absent: only adds a dashboard
				-        - --length=9
				+        - --length=0
				--- before: ConfigMap shoot--dev--mine/noop-dashboard (seed)
				+++ /dev/null
				2 changes (1 disruptive, 1 safe), 1 object to change, 1 to delete`,
		},
		{
			name: "forbidden, with what to do and the rest that would change", args: args, exit: cli.ExitInvalid,
			files: fromTo(noopShoot("{}"), noopShoot(`{colour: blue, monitored: true}`)),
			stdout: `
error: new.yaml: spec.networking.providerConfig.colour: Forbidden: cannot change from red to blue in a running network: pods keep the former colour
change: monitored: safe, from absent to true: only adds a dashboard
refused (1 error): keep colour: red, or create a new cluster
`,
		},
		{
			name: "invalid", args: args, exit: cli.ExitInvalid,
			files: fromTo(noopShoot("{}"), noopShoot(`{colour: green}`)),
			stdout: `
error: new.yaml: spec.networking.providerConfig.colour: Unsupported value: "green": supported values: "red", "blue"
no plan: the network is invalid (1 error)
`,
		},
		{
			name: "what it would begin with is invalid", args: args, exit: cli.ExitInvalid,
			files: fromTo(noopShoot("{colour: green}"), noopShoot(`{}`)),
			stdout: `
error: old.yaml: spec.networking.providerConfig.colour: Unsupported value: "green": supported values: "red", "blue"
no plan: the old network is invalid (1 error)
`,
		},
	})
}

func TestWhatNoNetworkCanChangeIsRefused(t *testing.T) {
	const args = "plan old.yaml new.yaml"
	old := network("net", "ns", "{}")
	runAll(t, []script{
		{
			name: "its range", args: args, exit: cli.ExitInvalid,
			files: fromTo(old, strings.Replace(old, "podCIDR: 10.1", "clusterCIDR: 10.7", 1)),
			stdout: `
error: new.yaml: spec.clusterCIDR: Forbidden: cannot change from 10.1.0.0/16 to 10.7.0.0/16 in a running network: the running pods have addresses from this range; write 10.1.0.0/16 again, or create a new cluster
refused (1 error): keep spec.clusterCIDR: 10.1.0.0/16, or create a new cluster
`,
		},
		{
			name: "but its spelling", args: args, exit: cli.ExitOK,
			files: fromTo(old, strings.Replace(old, "podCIDR", "clusterCIDR", 1)), stdout: "no changes\n",
		},
		{
			name: "its type, if there were another one", args: args, exit: cli.ExitInvalid,
			files: fromTo(old, strings.Replace(old, "type: noop", "type: other", 1)),
			stdout: `~error: new.yaml: spec.type: Unsupported value: "other": supported values: "noop"
				no plan: the network is invalid (1 error)`,
		},
	})

	g := NewWithT(t)
	t.Chdir(t.TempDir())
	g.Expect(os.WriteFile("old.yaml", []byte(calicoShoot("{}", "", "")), 0o644)).To(Succeed())
	g.Expect(os.WriteFile("new.yaml", []byte(strings.Replace(calicoShoot("{}", "", ""), "type: calico", "type: noop", 1)), 0o644)).To(Succeed())
	exit, stdout := planOfAll("old.yaml", "new.yaml")
	g.Expect(exit).To(Equal(cli.ExitInvalid))
	g.Expect(stdout).To(HavePrefix("error: new.yaml: spec.networking.type: Forbidden: cannot change from calico to noop in a running network: "))
	g.Expect(stdout).To(ContainSubstring("keep spec.networking.type: calico, or"))
}

// What NEW does not say is as in OLD, so that users need not write down what does not
// change.
func TestAPlanGoesOnWithWhatIsKnown(t *testing.T) {
	const args = "plan old.yaml new.yaml"
	alone := network("net", "ns", "{}")
	runAll(t, []script{
		{
			name: "a Network alone is in the Shoot's cluster", args: args,
			files: fromTo(alone+"---\n"+shoot("mine", "{type: noop}"), alone), stdout: "no changes\n",
		},
		{
			name: "a Shoot keeps the ranges that were chosen for it", args: args,
			files:  fromTo(shoot("mine", "{type: noop, pods: 10.7.0.0/16, services: 10.8.0.0/16}"), shoot("mine", "{type: noop}")),
			stdout: "no changes\n",
		},
		{
			name: "a Shoot keeps its status", args: args,
			files: fromTo(shoot("mine", "{type: noop}")+"status: {technicalID: shoot--x--y, networking: {pods: [10.7.0.0/16]}}\n",
				shoot("mine", "{type: noop, providerConfig: {monitored: true}}")),
			exit: cli.ExitChanges, stdout: "~+++ after: ConfigMap shoot--x--y/noop-dashboard (seed)\n1 change (safe), 1 object to add",
		},
		{
			name: "the Shoot's own facts count", args: args, exit: cli.ExitChanges,
			files:  fromTo(shoot("mine", "{type: noop}"), strings.Replace(shoot("mine", "{type: noop}"), "1.36.3", "1.37.0", 1)),
			stdout: "~-        - --kubernetes=1.36.3\n+        - --kubernetes=1.37.0\n1 object to change",
		},
		{
			name: "what was applied is kept", args: args,
			files:  fromTo(alone+"  cloudProvider: infra\n"+appliedRed, alone+"  cloudProvider: infra\n"),
			stdout: "no changes\n",
		},
		{
			name: "what runs is there, though it would be refused today", args: args, exit: cli.ExitChanges,
			files: fromTo(noopShoot("{colour: green}")+"status: {lastOperation: {type: Reconcile, state: Succeeded, lastUpdateTime: 2026-01-01T00:00:00Z}}\n",
				noopShoot("{colour: green, monitored: true}")),
			stdout: "~warning: new.yaml: spec.networking.providerConfig.colour: was so before, and would be refused in a new network: \n1 change (safe)",
		},
		{
			name: "facts of the operator", args: "plan --feature-gates FastNoop=true --mode standalone old.yaml new.yaml", exit: cli.ExitChanges,
			files: fromTo(noopShoot("{}"), noopShoot(`{length: "1"}`)), stdout: "~--fast=true\n1 change (",
		},
		{
			name: "or its configuration", args: "plan --config config.yaml old.yaml new.yaml", exit: cli.ExitChanges,
			files: map[string]string{
				"old.yaml": noopShoot("{}"), "new.yaml": noopShoot(`{length: "1"}`),
				"config.yaml": "featureGates: {FastNoop: true}\n",
			},
			stdout: "~--fast=true\n1 change (",
		},
	})
}

// A user who compares two examples wants to know what differs. A user who mixes up two
// clusters must be told.
func TestAPlanIsAboutOneCluster(t *testing.T) {
	const args = "plan old.yaml new.yaml"
	named := func(name, namespace, uid string) string {
		metadata := "metadata: {name: " + name + ", namespace: " + namespace + ", uid: '" + uid + "'}"
		return strings.Replace(noopShoot("{}"), "metadata: {name: mine, namespace: garden-dev}", metadata, 1)
	}
	const takes = "; plan compares them as one network\nno changes\n"
	runAll(t, []script{
		{
			name: "two Shoots", args: args, files: fromTo(named("mine", "garden-dev", ""), named("other", "garden-dev", "")),
			stdout: "\nwarning: new.yaml: metadata.name: this is the Shoot garden-dev/other, but old.yaml has the Shoot garden-dev/mine" + takes,
		},
		{
			name: "of two projects", args: args, files: fromTo(named("mine", "garden-dev", "7"), named("mine", "garden-prod", "")),
			stdout: "\nwarning: new.yaml: metadata.namespace: this is the Shoot garden-prod/mine, but old.yaml has the Shoot garden-dev/mine" + takes,
		},
		{
			name: "that are there", args: args, exit: cli.ExitInvalid, files: fromTo(named("mine", "garden-dev", "7"), named("other", "garden-dev", "8")),
			stdout: "\nerror: new.yaml: metadata.uid: Invalid value: \"8\": this is the Shoot garden-dev/other with the uid 8, but old.yaml has the Shoot garden-dev/mine with the uid 7; plan compares networks of one cluster\n",
		},
		{
			name: "one that has been made meanwhile", args: args, files: fromTo(named("mine", "garden-dev", ""), named("mine", "garden-dev", "7")),
			stdout: "no changes\n",
		},
		{
			name: "two Networks", args: args, files: fromTo(network("net", "ns", "{}"), network("net", "elsewhere", "{}")),
			stdout: "\nwarning: new.yaml: metadata.namespace: this is the Network elsewhere/net, but old.yaml has the Network ns/net" + takes,
		},
		{
			name: "a Network without namespace", args: args, stdout: "no changes\n",
			files: fromTo(network("net", "ns", "{}"), strings.Replace(network("net", "ns", "{}"), ", namespace: ns", "", 1)),
		},
		{
			name: "another Shoot's Network", args: args, exit: cli.ExitInvalid, files: fromTo(noopShoot("{}"), network("net", "ns", "{}")),
			stdout: "~warning: new.yaml: metadata.name: this is network ns/net, but old.yaml has shoot garden-dev/mine; plan compares them",
		},
	})
}

func TestAPlanThatCannotBeMadeIsNotTakenForAHarmlessOne(t *testing.T) {
	files := fromTo(noopShoot("{}"), noopShoot("{}"))
	with := func(name, text string) map[string]string {
		return map[string]string{"old.yaml": noopShoot("{}"), name: text}
	}
	runAll(t, []script{
		{name: "no files", args: "plan", exit: 4, stderr: "Error: requires the files OLD and NEW, or --live\nSee 'trellis plan --help'.\n"},
		{name: "one file", args: "plan old.yaml", files: files, exit: 4, stderr: "~requires the files OLD and NEW"},
		{name: "two files for --live", args: "plan --live old.yaml new.yaml", files: files, exit: 4, stderr: "~--live takes no file but NEW"},
		{name: "a namespace of nothing", args: "plan -n ns old.yaml new.yaml", files: files, exit: 4, stderr: "~--namespace requires --live"},
		{name: "a mode that is known", args: "plan --live --mode standalone", exit: 4, stderr: "~--mode cannot be used with --live"},
		{name: "an unknown flag", args: "plan --loud", exit: 4, stderr: "~unknown flag: --loud"},
		{name: "an unknown format", args: "plan -o yaml old.yaml new.yaml", files: files, exit: 4, stderr: "~must be text or json"},
		{name: "a missing file", args: "plan old.yaml gone.yaml", files: files, exit: 4, stderr: "Error: open gone.yaml: no such file or directory\n"},
		{name: "standard input twice", args: "plan - -", exit: 4, stderr: "~standard input can be read only once"},
		{name: "gates that there are not", args: "plan --config c.yaml old.yaml old.yaml", files: with("c.yaml", "featureGates: {Slow: true}"), exit: 4, stderr: "~read c.yaml: featureGates[Slow]: Invalid value"},
		{name: "images that there are not", args: "plan --config c.yaml old.yaml old.yaml", files: with("c.yaml", "images: {probe: a/b:c}"), exit: 4, stderr: "~read c.yaml: the configuration is invalid: images[probe]: Invalid value"},
		{name: "a configuration that is none", args: "plan --config c.yaml old.yaml old.yaml", files: with("c.yaml", "colour: red"), exit: 4, stderr: "~read c.yaml: the configuration cannot be decoded"},
		{name: "no kubeconfig", args: "plan --live --kubeconfig gone", exit: 4, stderr: "~Error: load the kubeconfig of the seed: stat gone: no such file or directory"},
		{name: "no such context", args: "plan --live --kubeconfig k --context there", files: map[string]string{"k": kubeconfigOfNoServer}, exit: 4, stderr: `~context "there" does not exist`},
		{name: "no server", args: "plan --live --kubeconfig k -n ns", files: map[string]string{"k": kubeconfigOfNoServer}, exit: 4, stderr: "~Error: \nhttps://127.0.0.1:1\nconnection refused"},
		{
			name: "several networks", args: "plan old.yaml new.yaml", exit: 1,
			files:  fromTo(noopShoot("{}"), shoot("one", "{type: noop}")+"---\n"+shoot("two", "{type: noop}")),
			stdout: "error: the input has 2 networks (shoot garden-dev/one, shoot garden-dev/two); this command takes one\n",
		},
		{
			name: "junk", args: "plan old.yaml new.yaml", exit: 1, files: with("new.yaml", "hello\n"),
			stdout: "error: new.yaml: document 1: is not an object: a manifest begins with apiVersion and kind\n",
		},
		{
			name: "errors in NEW are reported before a seed is asked", args: "plan --live --kubeconfig k new.yaml", exit: 1,
			files:  map[string]string{"k": kubeconfigOfNoServer, "new.yaml": "hello\n"},
			stdout: "~is not an object",
		},
	})
}

// kubeconfigOfNoServer leads to a port where no server listens.
const kubeconfigOfNoServer = `{apiVersion: v1, kind: Config, current-context: here,
  clusters: [{name: seed, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: me, user: {token: none}}],
  contexts: [{name: here, context: {cluster: seed, user: me, namespace: ns}}]}`

func TestAPlanForMachines(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	for name, text := range fromTo(noopShoot("{}"), noopShoot(`{monitored: true, length: "0"}`)) {
		g.Expect(os.WriteFile(name, []byte(text), 0o644)).To(Succeed())
	}
	exit, stdout, _ := call([]string{"plan", "-o", "json", "old.yaml", "new.yaml"}, "")
	g.Expect(exit).To(Equal(cli.ExitDisruptive))
	var content struct {
		Network, Summary string
		Warnings         []string
		Changes          []struct{ Path, Class, Reason string }
		Objects          []struct{ Cluster, Kind, Namespace, Name, What, Diff string }
	}
	g.Expect(json.Unmarshal([]byte(stdout), &content)).To(Succeed())
	g.Expect(content.Network).To(Equal("shoot garden-dev/mine"))
	g.Expect(content.Warnings).To(HaveLen(1))
	g.Expect(content.Changes).To(HaveLen(2))
	g.Expect(content.Changes[0].Class).To(Equal("disruptive"))
	g.Expect(content.Objects).To(HaveLen(2))
	g.Expect(content.Objects[0].Kind + " " + content.Objects[0].What).To(Equal("DaemonSet.apps changes"))
	g.Expect(content.Objects[1].Cluster + " " + content.Objects[1].What).To(Equal("seed comes"))
	g.Expect(content.Objects[0].Diff).To(ContainSubstring("+        - --length=0\n"))
	g.Expect(content.Summary).To(Equal("2 changes (1 disruptive, 1 safe), 1 object to change, 1 to add"))
}

// noopWithPrecondition is a noop that nodes have to be ready for.
type noopWithPrecondition struct{ noop }

func (noopWithPrecondition) Precondition(*noopConfig, *plugin.Input) *plugin.Precondition {
	return &plugin.Precondition{
		AppliesTo: func(present []unstructured.Unstructured) bool { return present[1].GetName() == "noop" },
		Condition: "Prepared", Status: "True", Reason: "Verified", Explanation: "pods would lose traffic",
	}
}

func TestAPlanTellsWhatTheOperatorWaitsFor(t *testing.T) {
	t.Chdir(t.TempDir())
	asleep := strings.Replace(noopShoot(`{length: "1"}`), "spec:", "spec:\n  hibernation: {enabled: true}", 1)
	for next, waits := range map[string]bool{noopShoot(`{length: "1"}`): true, noopShoot("{}"): false, asleep: false} {
		g := NewWithT(t)
		for name, text := range fromTo(noopShoot("{}"), next) {
			g.Expect(os.WriteFile(name, []byte(text), 0o644)).To(Succeed())
		}
		var out strings.Builder
		cli.Run([]string{"plan", "old.yaml", "new.yaml"}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, []plugin.Plugin{plugin.New(noopWithPrecondition{})}, nil)
		g.Expect(strings.Contains(out.String(), "warning: new.yaml: nodes: the operator changes nothing until each node has the condition "+
			"Prepared=True with reason Verified, because pods would lose traffic\n")).To(Equal(waits), out.String())
	}
}

func TestAPlanIsWrittenOrSaysThatItIsNot(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range fromTo(noopShoot("{}"), noopShoot("{monitored: true}")) {
		NewWithT(t).Expect(os.WriteFile(name, []byte(text), 0o644)).To(Succeed())
	}
	for _, format := range []string{"text", "json"} {
		exit := cli.Run([]string{"plan", "-o", format, "old.yaml", "new.yaml"}, cli.Streams{In: strings.NewReader(""), Out: fullDisk{}, Err: fullDisk{}},
			[]plugin.Plugin{plugin.New(noop{})}, nil)
		NewWithT(t).Expect(exit).To(Equal(cli.ExitCouldNotPlan))
	}
}

func TestAPlanIsTheSameEachTime(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	for name, text := range fromTo(calicoShoot("{}", "", ""), calicoShoot(rich, ", ipFamilies: [IPv4, IPv6]", ", verticalPodAutoscaler: {enabled: true}")) {
		g.Expect(os.WriteFile(name, []byte(text), 0o644)).To(Succeed())
	}
	exit, plan := planOfAll("old.yaml", "new.yaml")
	g.Expect(exit).To(Equal(cli.ExitDisruptive), plan)
	for range 5 {
		_, again := planOfAll("old.yaml", "new.yaml")
		g.Expect(again).To(Equal(plan))
	}
	exit, plan = planOfAll("new.yaml", "new.yaml")
	g.Expect(exit).To(Equal(cli.ExitOK))
	g.Expect(plan).To(HaveSuffix("no changes\n"))
}

// planOfAll plans with all plugins, and the noop.
func planOfAll(args ...string) (exit int, stdout string) {
	var out, problems strings.Builder
	exit = cli.Run(append([]string{"plan"}, args...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems},
		append(plugins.All(), plugin.New(noop{})), providers.All())
	return exit, out.String() + problems.String()
}

// noopOverRoutes is a noop that may rely on the infrastructure's routes.
type noopOverRoutes struct{ noop }

func (noopOverRoutes) DescribeDataPath(effective *noopConfig) plugin.DataPath {
	if effective.Length == "1" {
		return plugin.DataPath{Packets: "no encapsulation"}
	}
	return plugin.DataPath{Packets: "on foot", Router: "hand"}
}

func TestAPlanTellsThatTheOperatorWaitsForRoutes(t *testing.T) {
	t.Chdir(t.TempDir())
	asked := func(text string) string {
		return strings.Replace(text, "metadata: {", "metadata: {annotations: {"+extensionsv1alpha1.PodRoutesAnnotation+": \"true\"}, ", 1)
	}
	for next, waits := range map[string]bool{asked(noopShoot(`{length: "1"}`)): true, asked(noopShoot(`{length: "2"}`)): false, noopShoot(`{length: "1"}`): false} {
		g := NewWithT(t)
		for name, text := range fromTo(noopShoot("{}"), next) {
			g.Expect(os.WriteFile(name, []byte(text), 0o644)).To(Succeed())
		}
		var out strings.Builder
		cli.Run([]string{"plan", "old.yaml", "new.yaml"}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, []plugin.Plugin{plugin.New(noopOverRoutes{})}, nil)
		g.Expect(strings.Contains(out.String(), "warning: new.yaml: nodes: the operator changes nothing until all nodes have their routes, "+
			"which the condition PodRoutesCreated of the Network tells, because pods talk through them then\n")).To(Equal(waits), out.String())
	}
}
