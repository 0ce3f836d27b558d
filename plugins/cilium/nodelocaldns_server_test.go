// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/plugins/cilium"
)

// The policies and Mutate must make the same of every object. What an API server makes of
// an object that Mutate has changed, before there are policies, is what it has to make of
// the unchanged one later.
func TestPoliciesDoWhatMutateDoes(t *testing.T) {
	s := &server{WithT: NewWithT(t), t: t}
	config, err := clientcmd.BuildConfigFromFlags("", landscape.Get(t).Seed.Kubeconfig)
	s.Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	s.client, err = client.New(config, client.Options{})
	s.Expect(err).NotTo(HaveOccurred())

	mutator, objects, want := cilium.New(), s.samples(), []*unstructured.Unstructured{}
	for _, object := range objects {
		adapted := object.DeepCopy()
		_, err := mutator.Mutate(adapted)
		s.Expect(err).NotTo(HaveOccurred())
		want = append(want, s.tried(adapted))
	}
	s.installPolicies()
	for i, object := range objects {
		s.Expect(s.tried(object)).To(Equal(want[i]), "%v", object)
	}
	t.Run("users", func(t *testing.T) { s.writeAsAUser() })
	t.Run("a resource manager", func(t *testing.T) { s.applyAgain() })
}

type server struct {
	*WithT
	t      *testing.T
	client client.Client
}

// samples returns the objects of the table and random ones.
func (s *server) samples() []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for _, each := range cacheObjects {
		list = append(list, objectOf(s.t, each.before))
	}
	for i := range 30 {
		list = append(list, anyCacheConfig.Example(i), anyCache.Example(i))
	}
	return list
}

// tried is what the API server makes of a new object.
func (s *server) tried(object *unstructured.Unstructured) *unstructured.Unstructured {
	s.t.Helper()
	object = object.DeepCopy()
	s.Expect(s.client.Create(s.t.Context(), object, client.DryRunAll)).To(Succeed())
	for _, field := range []string{"uid", "creationTimestamp", "managedFields", "name"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	return object
}

func (s *server) installPolicies() {
	s.t.Helper()
	for _, object := range build(s.t, "", withKubernetes("1.36.0")).Objects.In(admissionResource) {
		s.Expect(s.client.Create(s.t.Context(), object)).To(Succeed())
	}
	// Each kind of object has a policy of its own, of which the API server learns some
	// time later.
	for document, sign := range map[string]string{
		cacheConfig("\n    bind 1.2.3.4"):                               "bind 0.0.0.0",
		cacheDaemonSet(" {containers: [{name: node-cache, image: x}]}"): "-setupiptables=false",
	} {
		s.Eventually(func() string { return fmt.Sprint(s.tried(objectOf(s.t, document)).Object) }).
			WithTimeout(time.Minute).Should(ContainSubstring(sign))
	}
}

// writeAsAUser creates, edits and deletes an object that is adapted.
func (s *server) writeAsAUser() {
	ctx, object := s.t.Context(), objectOf(s.t, cacheConfig("\n    bind 1.2.3.4\n"))
	s.Expect(s.client.Create(ctx, object)).To(Succeed())
	s.Expect(corefileOf(object)).To(Equal("bind 0.0.0.0\n"))
	s.Expect(unstructured.SetNestedField(object.Object, "bind 5.6.7.8\nlog\n", "data", "Corefile")).To(Succeed())
	s.Expect(s.client.Update(ctx, object)).To(Succeed())
	s.Expect(corefileOf(object)).To(Equal("bind 0.0.0.0\nlog\n"))

	object.SetFinalizers([]string{"example.org/stays"})
	s.Expect(s.client.Update(ctx, object)).To(Succeed())
	s.Expect(s.client.Delete(ctx, object)).To(Succeed())
	s.Expect(s.client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	s.Expect(unstructured.SetNestedField(object.Object, "bind 5.6.7.8\n", "data", "Corefile")).To(Succeed())
	object.SetFinalizers(nil)
	s.Expect(s.client.Update(ctx, object)).To(Succeed(), "what is being deleted is left alone")
	s.Expect(corefileOf(object)).To(Equal("bind 5.6.7.8\n"))
}

// applyAgain applies the cache's objects twice: nothing changes the second time, be it
// applied by the API server or updated by a client that compares.
func (s *server) applyAgain() {
	ctx := s.t.Context()
	for _, document := range []string{cacheConfig("\n    bind 1.2.3.4\nimmutable: true"), cacheDaemonSet(`
      hostNetwork: true
      containers: [{name: node-cache, image: x, args: [-setupiptables=true], livenessProbe: {httpGet: {host: 169.254.20.10, port: 8099}}}]`)} {
		apply := func() *unstructured.Unstructured {
			object := objectOf(s.t, document)
			s.Expect(s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("manager"), client.ForceOwnership)).To(Succeed())
			return object
		}
		first := apply()
		s.Expect(apply().GetResourceVersion()).To(Equal(first.GetResourceVersion()))

		update := objectOf(s.t, document)
		update.SetResourceVersion(first.GetResourceVersion())
		s.Expect(s.client.Update(ctx, update)).To(Succeed())
		s.Expect(update.GetGeneration()).To(Equal(first.GetGeneration()))
	}
}

func corefileOf(object *unstructured.Unstructured) string {
	corefile, _, _ := unstructured.NestedString(object.Object, "data", "Corefile")
	return corefile
}

// Words and options that the rules are about, or nearly.
var (
	anyLine = rapid.SliceOfN(rapid.SampledFrom([]string{
		"bind", "health", "bind ", " bind\t", "health ", "health\t", "health  ", "::1:80", "1.2.3.4:8099", ":80", "[::1]:53", "x", "-", "# ", "{", "}", "\r", "é", `"`, `\`,
	}), 0, 6)
	anyArgument = rapid.SampledFrom([]string{
		"-skipteardown=false", "-skipteardown", "-setupinterface=true", "-setupiptables", "-setupiptables=true", "--setupiptables", "-localip", "bind=", "-bind=bind 1.2.3.4", "-in=bind=", "x", "",
	})
)

var anyCacheConfig = rapid.Custom(func(t *rapid.T) *unstructured.Unstructured {
	corefile := ""
	for _, line := range rapid.SliceOfN(anyLine, 0, 8).Draw(t, "lines") {
		for _, word := range line {
			corefile += word
		}
		corefile += "\n"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "node-local-dns-any", "namespace": "kube-system", "labels": map[string]any{"k8s-app": "node-local-dns"}},
		"data":     map[string]any{"Corefile": corefile, "other": corefile},
	}}
})

var anyCache = rapid.Custom(func(t *rapid.T) *unstructured.Unstructured {
	pod := map[string]any{
		"containers":     anyContainers(t, "containers", "node-cache", "coredns-config-adapter", "other"),
		"initContainers": anyContainers(t, "initContainers", "coredns-config-adapter-2", "coredns-config-adapter-3"),
	}
	if rapid.Bool().Draw(t, "a config adapter") {
		pod["containers"] = anyContainers(t, "containers", "other", "node-cache")
		pod["initContainers"] = anyContainers(t, "initContainers", "first", "coredns-config-adapter")
	}
	if rapid.Bool().Draw(t, "host network") {
		pod["hostNetwork"] = true
	}
	labels := map[string]any{"k8s-app": "node-local-dns"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"metadata": map[string]any{"name": "node-local-dns", "namespace": "kube-system", "labels": labels},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod},
		},
	}}
})

func anyContainers(t *rapid.T, list string, names ...string) []any {
	var containers []any
	for _, name := range names {
		container := map[string]any{"name": name, "image": "x"}
		if rapid.Bool().Draw(t, list+" with arguments") {
			args := []any{}
			for _, arg := range rapid.SliceOfN(anyArgument, 0, 5).Draw(t, "arguments") {
				args = append(args, arg)
			}
			container["args"] = args
		}
		if list == "containers" && rapid.Bool().Draw(t, "with a probe") {
			get := map[string]any{"port": int64(8099)}
			if rapid.Bool().Draw(t, "of a host") {
				get["host"] = "169.254.20.10"
			}
			container["livenessProbe"] = map[string]any{"httpGet": get}
		}
		containers = append(containers, container)
	}
	return containers
}
