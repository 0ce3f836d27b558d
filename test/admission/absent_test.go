// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/test/contract"
)

// Shoots of other types do not depend on Trellis, by whatever they are selected.
func TestAnAdmissionThatIsGoneOnlyAffectsItsOwnTypes(t *testing.T) {
	contract.Shows(t, "A1")
	for name, standalone := range map[string]bool{"standalone": true, "in a landscape": false} {
		t.Run(name, func(t *testing.T) {
			g := setup(t)
			options := g.options(g.freeAddress())
			options.Standalone = standalone
			stop := g.start(options)
			create := func(networkType string) error {
				shoot := g.shoot("mine", "{networking: {type: "+networkType+", providerConfig: {unknown: 1}}}")
				if standalone {
					shoot.SetLabels(nil)
				}
				return g.Create(t.Context(), shoot, client.DryRunAll)
			}
			g.Eventually(func() error { return create("calico") }).Should(MatchError(ContainSubstring("providerConfig.unknown")))
			g.Expect(create("other")).To(Succeed())
			present := g.shoot("present", "{networking: {type: calico}}")
			g.Expect(g.Create(t.Context(), present)).To(Succeed())
			stop()
			g.Eventually(func() error { return create("calico") }).Should(MatchError(ContainSubstring("failed calling webhook")))
			patch := func(document string) error {
				return g.Patch(t.Context(), present, client.RawPatch(types.MergePatchType, []byte(document)))
			}
			g.Expect(patch(`{"spec": {"kubernetes": {"version": "1.36.4"}}}`)).To(MatchError(ContainSubstring("failed calling webhook")))
			g.Expect(patch(`{"metadata": {"finalizers": ["example.com/keep"], "annotations": {"example": "annotated"}}}`)).To(Succeed())
			g.Expect(g.Delete(t.Context(), present)).To(Succeed())
			g.Expect(patch(`{"metadata": {"finalizers": null}}`)).To(Succeed())
			g.Expect(g.Get(t.Context(), client.ObjectKeyFromObject(present), present)).To(MatchError(ContainSubstring("not found")), "Shoots can be deleted")
			g.Expect(create("other")).To(Succeed())
			workerless := g.shoot("workerless", "{networking: null, provider: {workers: null}}")
			g.Expect(g.Create(t.Context(), workerless, client.DryRunAll)).To(Succeed())
			// Where users are, administrators get along without the admission.
			for _, config := range configurations() {
				g.Expect(g.Delete(t.Context(), config)).To(Succeed())
			}
			g.Eventually(func() error { return create("calico") }).Should(Succeed())
		})
	}
}
