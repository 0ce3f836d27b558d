// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// kubectl get shows the table that the API server makes.
func TestThePodRangeIsShownInBothSpellings(t *testing.T) {
	e := setup(t)
	e.network(called("of-a-network"))
	e.network(called("of-the-proposal"), func(n *extensionsv1alpha1.Network) {
		n.Spec.PodCIDR, n.Spec.ClusterCIDR = "", "10.3.0.0/16"
	})
	c, err := rest.HTTPClientFor(e.client.Config)
	e.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		e.client.Config.Host+"/apis/extensions.gardener.cloud/v1alpha1/namespaces/"+e.namespace+"/networks", nil)
	e.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := c.Do(request)
	e.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	table := &metav1.Table{}
	e.Expect(json.NewDecoder(response.Body).Decode(table)).To(Succeed())
	column := slices.IndexFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == "Pod CIDR" })
	e.Expect(column).To(BeNumerically(">", 0))
	var shown []any
	for _, row := range table.Rows {
		shown = append(shown, row.Cells[column])
	}
	e.Expect(shown).To(ConsistOf("10.1.0.0/16", "10.3.0.0/16"))
}
