// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"
	"strings"
	"sync"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// otherBundle is the bundle of a network of type other.
const otherBundle = "other-config"

// exchangeable is a network of type example whose place one of type other can take.
type exchangeable struct{ examplePlugin }

func (exchangeable) Describe() plugin.Description {
	description := examplePlugin{}.Describe()
	description.Images = plugin.ParseImages([]byte(`[{name: agent, repository: example.org/agent, tag: "1"}]`))
	return description
}

func (exchangeable) Exchange(*exampleConfig, *plugin.Input, *field.Path) plugin.Exchange {
	return plugin.Exchange{Remnants: plugin.Remnants{Image: "agent", Interfaces: []string{"example0"}}}
}

// otherPlugin is a network of type other.
type otherPlugin struct{ exchangeable }

func (otherPlugin) Describe() plugin.Description {
	description := exchangeable{}.Describe()
	description.Type = "other"
	return description
}

func (otherPlugin) Render(effective *exampleConfig, facts *plugin.Input) (plugin.Objects, error) {
	agents := daemonSet(strings.TrimPrefix(facts.Namespace, controlPlane)+"-other", effective.Color)
	components := []plugin.Component{{Name: "agents", Kind: "DaemonSet", Namespace: system, Workload: agents.Name}}
	return plugin.NewObjects(components, plugin.NetworkBundle(otherBundle, []plugin.Object{agents})), nil
}

// changesType is the life of a network whose type changes in a shoot without nodes: all have the new type at once.
var changesType = &life{
	name: "another type", trigger: byEdit, kinds: shootKinds, plugins: []plugin.Plugin{plugin.New[exampleConfig](exchangeable{}), plugin.New[exampleConfig](otherPlugin{})}, alone: &sync.Mutex{},
	scenarios: []*scenario{
		{name: "create", act: func(w *world) { w.create(red) }, finish: done("Create"), onTheWay: true},
		{name: "change the type", act: func(w *world) { w.change("other") }, finish: became(otherBundle, mainBundle, mainBundle+"-later", mainBundle+"-seed"), goes: []string{"agent", "settings", "extra", "later", "cleaner"}},
		{name: "change it back", act: func(w *world) { w.change("example") }, finish: became(mainBundle, otherBundle), goes: []string{"other-agent", "cleaner"}, rare: true},
		{name: "delete", act: (*world).delete, finish: gone, everythingGoes: true, elsewhere: true},
	},
}

// change writes another type, and that it may change.
func (w *world) change(networkType string) {
	n := &extensionsv1alpha1.Network{ObjectMeta: meta(w.namespace(), "one")}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"type":%q}}`, extensionsv1alpha1.ChangeTypeAnnotation, extensionsv1alpha1.ChangeTypeAllowed, networkType)
	w.Expect(w.api.client.Patch(w.ctx, n, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

// became waits until a network has one of these bundles, and none of the others, since its type has changed.
func became(bundle string, others ...string) func(w *world) {
	return func(w *world) {
		w.Eventually(func(g Gomega) {
			kept, err := state.Decode(w.read().Status.State)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(kept.Exchange == nil).To(BeTrue())
			g.Expect(w.managed(bundle)).NotTo(BeNil())
			for _, gone := range append(others, pipeline.CleanerBundle) {
				g.Expect(w.managed(gone)).To(BeNil(), gone)
			}
		}).WithPolling(pause).Should(Succeed())
		done("Reconcile")(w)
	}
}
