// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/test/sandbox"
)

// brokenForServers render what only an API server refuses.
var brokenForServers = []broken{
	{how: "a field that does not exist", says: "size_of", wrong: func(f *fake[config]) {
		addForShoot(f, func() plugin.Object {
			object := custom("plugintest.trellis.network", "Gadget")
			object.SetName("two")
			object.Object["size_of"] = int64(7)
			return object
		})
	}},
	{how: "a selector for other pods", says: "does not take DaemonSet kube-system/agent", wrong: changeAgent(func(d *appsv1.DaemonSet) {
		d.Spec.Selector = system.Selecting(system.App("other"))
	})},
	{how: "a kind without definition", says: "the API server does not know Unheard one of plugintest.example.com/v1, which is applied at once", wrong: func(f *fake[config]) {
		addForShoot(f, func() plugin.Object { return custom("plugintest.example.com", "Unheard") })
	}},
	{how: "a definition that is none", says: "does not take CustomResourceDefinition widgets.plugintest.trellis.network", wrong: func(f *fake[config]) {
		addForShoot(f, func() plugin.Object {
			definition := definitionOf("Widget")
			definition.Spec.Versions[0].Storage = false
			return definition
		})
	}},
}

func addForShoot(f *fake[config], object func() plugin.Object) {
	f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
		objects, err := soundRender(c, facts)
		objects.Bundles[0].Objects = append(objects.Bundles[0].Objects, object())
		return objects, err
	}
}

func TestAnAPIServerAcceptsTheObjects(t *testing.T) {
	seed := sandbox.ForTest(t, sandbox.Options{})
	server, err := clientcmd.BuildConfigFromFlags("", seed.Seed.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a sound plugin's", func(t *testing.T) {
		NewWithT(t).Expect(problems(t, broken{}.make(), append(soundOptions(), WithAPIServer(server)))).To(BeEmpty())
	})
	for _, b := range brokenForServers {
		t.Run(b.how, func(t *testing.T) {
			g := NewWithT(t)
			found := problems(t, b.make(), append(b.allOptions(t), WithAPIServer(server)))
			g.Expect(found).To(HaveLen(1))
			g.Expect(found).To(HaveKeyWithValue("api-server", ContainElement(ContainSubstring(b.says))))
		})
	}
	t.Run("nothing is left there", func(t *testing.T) { expectNothingLeft(t, server) })
}

func expectNothingLeft(t *testing.T, config *rest.Config) {
	g := NewWithT(t)
	s, err := newServer(config)
	g.Expect(err).NotTo(HaveOccurred())
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	g.Eventually(func() []unstructured.Unstructured {
		g.Expect(s.client.List(t.Context(), list)).To(Succeed())
		return list.Items
	}).WithTimeout(enough).Should(BeEmpty())
}

func TestAnAPIServerThatDoesNotAnswerIsAProblem(t *testing.T) {
	g := NewWithT(t)
	found := problems(t, broken{}.make(), append(soundOptions(), WithAPIServer(&rest.Config{Host: "https://127.0.0.1:1"})))
	g.Expect(found).To(HaveLen(1))
	g.Expect(found).To(HaveKey("api-server"))
}
