// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"testing"

	. "github.com/onsi/gomega"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/providers/routes"
)

type exampleRoutes struct{ routes.Provider }

func (exampleRoutes) Type() string { return "example" }

func TestRoutesAreMadeOnListedInfrastructuresOnly(t *testing.T) {
	g := NewWithT(t)
	o := &Options{PodRoutes: []routes.Provider{exampleRoutes{}}, Config: &configv1alpha1.OperatorConfiguration{}}
	g.Expect(o.podRoutes()).To(BeEmpty())
	o.Config.PodRoutes = []configv1alpha1.PodRoutes{{Provider: "example", MaxRoutesPerTable: 1000}}
	listed, err := o.podRoutes()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listed["example"].Limit).To(Equal(1000))
	o.Config.PodRoutes = append(o.Config.PodRoutes, configv1alpha1.PodRoutes{Provider: "other"})
	_, err = o.podRoutes()
	g.Expect(err).To(MatchError(`the configuration is invalid: podRoutes[1].provider: Unsupported value: "other": supported values: "example"`))
}
