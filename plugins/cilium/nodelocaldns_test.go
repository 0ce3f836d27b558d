// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium"
	"github.com/trellis-network/trellis/test/built"
	"github.com/trellis-network/trellis/test/contract"
)

func withKubernetes(version string) option {
	return func(f *plugin.Input) { f.KubernetesVersion = version }
}

// withWebhook is an operator that answers API servers.
func withWebhook(f *plugin.Input) {
	f.Webhook = &plugin.Webhook{URL: "https://trellis.garden:443/shoot/cilium", CABundle: []byte("an authority")}
}

// withPolicies is an API server that has policies only if it is told to.
func withPolicies(version string) option {
	return func(f *plugin.Input) {
		f.KubernetesVersion = "1.34.2"
		f.APIServer = plugin.APIServer{
			FeatureGates:  map[string]bool{"MutatingAdmissionPolicy": true},
			RuntimeConfig: map[string]bool{"admissionregistration.k8s.io/" + version: true},
		}
	}
}

func TestWhatChangesTheCachesObjects(t *testing.T) {
	webhook := []string{"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration gardener-extension-networking-cilium-shoot"}
	policies := func(version string) []string {
		var names []string
		for _, objects := range []string{"configmaps", "daemonsets"} {
			for _, kind := range []string{" MutatingAdmissionPolicy", " MutatingAdmissionPolicyBinding"} {
				names = append(names, "admissionregistration.k8s.io/"+version+kind+" trellis-cilium-node-local-dns-"+objects)
			}
		}
		return names
	}
	for name, test := range map[string]struct {
		options []option
		want    []string
	}{
		"a webhook":                            {[]option{withKubernetes("1.35.7"), withWebhook}, webhook},
		"a webhook beside an unused gate":      {[]option{withPolicies("v1"), withWebhook}, webhook},
		"policies":                             {[]option{withKubernetes("1.36.0"), withWebhook}, policies("v1")},
		"policies, which need no webhook":      {[]option{withKubernetes("1.37.1")}, policies("v1")},
		"policies that are not final yet":      {[]option{withPolicies("v1beta1"), withWebhook}, policies("v1beta1")},
		"policies of the first kind":           {[]option{withPolicies("v1alpha1")}, policies("v1alpha1")},
		"nothing, with neither":                {[]option{withKubernetes("1.35.7")}, nil},
		"nothing, without a version":           {nil, nil},
		"the same, whether there is a cache":   {[]option{withKubernetes("1.36.0"), withNodeLocalDNS}, policies("v1")},
		"the same, whether there is a cache 2": {[]option{withKubernetes("1.35.7"), withWebhook, withNodeLocalDNS}, webhook},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var names []string
			for _, object := range build(t, "", test.options...).Objects.In(admissionResource) {
				version, kind := object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
				names = append(names, version+" "+kind+" "+object.GetName())
			}
			g.Expect(names).To(Equal(test.want))
		})
	}
}

// A cluster whose cache does not work has no DNS, so its user is told, if there is a
// cache and the cluster is there.
func TestUsersAreWarnedOfACacheThatNothingAdapts(t *testing.T) {
	const path = "spec.systemComponents.nodeLocalDNS.enabled"
	planned := func(f *plugin.Input) { f.Planned = true }
	for name, test := range map[string]struct {
		options []option
		warned  bool
	}{
		"neither":          {[]option{withNodeLocalDNS, withKubernetes("1.35.7")}, true},
		"a webhook":        {[]option{withNodeLocalDNS, withKubernetes("1.35.7"), withWebhook}, false},
		"policies":         {[]option{withNodeLocalDNS, withKubernetes("1.36.0")}, false},
		"no cache":         {[]option{withKubernetes("1.35.7")}, false},
		"a cluster's plan": {[]option{withNodeLocalDNS, withKubernetes("1.35.7"), planned}, false},
	} {
		t.Run(name, func(t *testing.T) {
			warned := slices.ContainsFunc(build(t, "", test.options...).Warnings, func(w plugin.Warning) bool { return w.Field == path })
			NewWithT(t).Expect(warned).To(Equal(test.warned))
		})
	}
}

// The webhook takes the place of that of Gardener's extension.
func TestTheWebhookIsAsInGardener(t *testing.T) {
	contract.Shows(t, "W1")
	g := NewWithT(t)
	found := cilium.New()
	g.Expect(found.Adopts[1].Name).To(Equal("extension-cilium-shoot-webhooks"))
	config := build(t, "", withWebhook).Objects.In(admissionResource)[0].(*admissionregistrationv1.MutatingWebhookConfiguration)
	g.Expect(config.Labels).To(Equal(map[string]string{"remediation.webhook.shoot.gardener.cloud/exclude": "true"}))
	raw, err := yaml.Marshal(config.Webhooks)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(raw)).To(MatchYAML(`
- name: shoot.networking-cilium.extensions.gardener.cloud
  clientConfig: {url: "https://trellis.garden:443/shoot/cilium", caBundle: YW4gYXV0aG9yaXR5}
  rules:
  - {apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE], scope: "*"}
  - {apiGroups: [apps], apiVersions: [v1], resources: [daemonsets], operations: [CREATE, UPDATE], scope: "*"}
  namespaceSelector: {matchExpressions: [{key: gardener.cloud/purpose, operator: In, values: [kube-system]}]}
  objectSelector: {matchLabels: {k8s-app: node-local-dns}}
  failurePolicy: Fail
  matchPolicy: Exact
  reinvocationPolicy: Never
  sideEffects: None
  timeoutSeconds: 10
  admissionReviewVersions: [v1, v1beta1]
`))
}

// Only Gardener sets the label on kube-system.
func TestStandaloneTheNamespaceIsKnownByItsName(t *testing.T) {
	config := build(t, "", withWebhook, standalone).Objects.In(admissionResource)[0].(*admissionregistrationv1.MutatingWebhookConfiguration)
	NewWithT(t).Expect(config.Webhooks[0].NamespaceSelector.MatchExpressions[0].Key).To(Equal("kubernetes.io/metadata.name"))
}

// cacheObject is one of the cache's objects, as its author writes it, and as it has to
// be. No after means that it stays.
type cacheObject struct{ name, before, after string }

// cacheObjects are for Mutate and for the policies, which must agree.
var cacheObjects = []cacheObject{
	{"a Corefile", cacheConfig(`
    cluster.local:53 {
        loop
        bind 169.254.20.10 100.96.0.10
        forward . 100.96.0.11 {
                force_tcp
        }
        prometheus :9253
        health 169.254.20.10:8099
    }
    .:53 {
        bind 169.254.20.10 100.96.0.10
        health [fd30:1319:f1e:230b::1]:8099
    }`), cacheConfig(`
    cluster.local:53 {
        loop
        bind 0.0.0.0
        forward . 100.96.0.11 {
                force_tcp
        }
        prometheus :9253
        health :8099
    }
    .:53 {
        bind 0.0.0.0
        health :8099
    }`)},
	{"a Corefile that is adapted", cacheConfig("\n    bind 0.0.0.0\n    health :8099"), ""},
	{"a Corefile with other words", cacheConfig("\n    binder 1.2.3.4\n    healthy 1.2.3.4:80\n    health\n    rebind"), ""},
	{"an immutable one", cacheConfig("\n    bind 1.2.3.4\nimmutable: true"), cacheConfig("\n    bind 0.0.0.0\nimmutable: true")},
	{"no Corefile", `{apiVersion: v1, kind: ConfigMap, metadata: {name: node-local-dns-1, namespace: kube-system, labels: {k8s-app: node-local-dns}}, data: {other: bind 1.2.3.4}}`, ""},
	{"no data", `{apiVersion: v1, kind: ConfigMap, metadata: {name: node-local-dns-1, namespace: kube-system, labels: {k8s-app: node-local-dns}}}`, ""},
	{"a ConfigMap of another name", `{apiVersion: v1, kind: ConfigMap, metadata: {name: node-local-dns, namespace: kube-system, labels: {k8s-app: node-local-dns}}, data: {Corefile: bind 1.2.3.4}}`, ""},
	{"a generated name", `{apiVersion: v1, kind: ConfigMap, metadata: {generateName: node-local-dns-, namespace: kube-system, labels: {k8s-app: node-local-dns}}, data: {Corefile: bind 1.2.3.4}}`, ""},
	{"another label", `{apiVersion: v1, kind: ConfigMap, metadata: {name: node-local-dns-1, namespace: kube-system, labels: {k8s-app: dns}}, data: {Corefile: bind 1.2.3.4}}`, ""},
	{"another namespace", `{apiVersion: v1, kind: ConfigMap, metadata: {name: node-local-dns-1, namespace: default, labels: {k8s-app: node-local-dns}}, data: {Corefile: bind 1.2.3.4}}`, ""},
	{"a DaemonSet", cacheDaemonSet(`
      hostNetwork: true
      initContainers:
      - {name: other, image: x, args: [-bind=bind 1.1.1.1]}
      - {name: coredns-config-adapter, image: x, args: [-in=a, "-bind=bind 169.254.20.10 100.96.0.10", -out=b]}
      containers:
      - name: node-cache
        image: x
        args: [-localip, 169.254.20.10, -conf, /etc/Corefile, -health-port, "8099", -setupiptables=true, -skipteardown]
        livenessProbe: {httpGet: {host: 169.254.20.10, path: /health, port: 8099}}
      - {name: second, image: x, args: [-setupiptables=true]}`), cacheDaemonSet(`
      hostNetwork: false
      initContainers:
      - {name: other, image: x, args: [-bind=bind 1.1.1.1]}
      - {name: coredns-config-adapter, image: x, args: [-in=a, "-bind=bind 0.0.0.0", -out=b]}
      containers:
      - name: node-cache
        image: x
        args: [-localip, 169.254.20.10, -conf, /etc/Corefile, -health-port, "8099", -skipteardown=true, -setupinterface=false, -setupiptables=false]
        livenessProbe: {httpGet: {path: /health, port: 8099}}
      - {name: second, image: x, args: [-setupiptables=true]}`)},
	{"a DaemonSet that is adapted", cacheDaemonSet(`
      containers: [{name: node-cache, image: x, args: [-skipteardown=true, -setupinterface=false, -setupiptables=false]}]`), ""},
	{"a DaemonSet with next to nothing", cacheDaemonSet(`
      initContainers: [{name: coredns-config-adapter, image: x}]
      containers: [{name: node-cache, image: x, livenessProbe: {exec: {command: ["true"]}}}]`), cacheDaemonSet(`
      initContainers: [{name: coredns-config-adapter, image: x}]
      containers: [{name: node-cache, image: x, livenessProbe: {exec: {command: ["true"]}}, args: [-skipteardown=true, -setupinterface=false, -setupiptables=false]}]`)},
	{"a DaemonSet of another name", `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: dns, namespace: kube-system, labels: {k8s-app: node-local-dns}}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true, containers: [{name: node-cache, image: x}]}}}`, ""},
	{"a Deployment", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: node-local-dns, namespace: kube-system, labels: {k8s-app: node-local-dns}}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true, containers: [{name: node-cache, image: x}]}}}`, ""},
}

func cacheConfig(corefile string) string {
	return `apiVersion: v1
kind: ConfigMap
metadata: {name: node-local-dns-abc123, namespace: kube-system, labels: {k8s-app: node-local-dns}}
data:
  Corefile: |` + corefile
}

func cacheDaemonSet(pod string) string {
	return `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: node-local-dns-pool1, namespace: kube-system, labels: {k8s-app: node-local-dns}}
spec:
  selector: {matchLabels: {k8s-app: node-local-dns}}
  template:
    metadata: {labels: {k8s-app: node-local-dns}}
    spec:` + pod
}

func objectOf(t testing.TB, document string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(built.JSON(t, document)); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestTheCachesObjectsAreAdapted(t *testing.T) {
	mutator := cilium.New()
	for _, each := range cacheObjects {
		t.Run(each.name, func(t *testing.T) {
			g := NewWithT(t)
			object, want := objectOf(t, each.before), objectOf(t, each.before)
			if each.after != "" {
				want = objectOf(t, each.after)
			}
			changed, err := mutator.Mutate(object)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(changed).To(Equal(each.after != ""))
			g.Expect(object).To(Equal(want))
			changed, err = mutator.Mutate(object)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(changed).To(BeFalse(), "once is enough")
		})
	}
}

// No API server sends these, but any other client may.
func TestWhatIsNoDaemonSetIsRefused(t *testing.T) {
	mutator := cilium.New()
	for name, test := range map[string]struct{ pod, want string }{
		"containers that are none": {" {containers: 5}", "spec.template.spec.containers: Invalid value: 5: must be a list"},
		"no containers in the list": {" {containers: [x]}",
			`spec.template.spec.containers[0]: Invalid value: "x": must be an object`},
		"arguments that are none": {" {containers: [{name: node-cache, args: {a: b}}]}", "spec.template.spec.containers[0]: "},
		"a strange probe": {" {containers: [{name: node-cache, livenessProbe: [x]}]}",
			"livenessProbe: Invalid value"},
		"a pod that is none": {" [x]", "spec.template.spec: Invalid value"},
		"no pod":             {" null", "spec.template.spec: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := objectOf(t, cacheDaemonSet(test.pod))
			before := object.DeepCopy()
			changed, err := mutator.Mutate(object)
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(changed).To(BeFalse())
			g.Expect(object).To(Equal(before))
		})
	}
}

func FuzzMutate(f *testing.F) {
	for _, each := range cacheObjects {
		f.Add(string(built.JSON(f, each.before)))
	}
	mutator := cilium.New()
	f.Fuzz(func(t *testing.T, document string) {
		object := &unstructured.Unstructured{}
		if object.UnmarshalJSON([]byte(document)) != nil {
			return
		}
		if _, err := mutator.Mutate(object); err != nil {
			return
		}
		if changed, err := mutator.Mutate(object); changed || err != nil {
			t.Errorf("mutating again: %v, %v", changed, err)
		}
	})
}
