// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"encoding/pem"
	"testing"

	. "github.com/onsi/gomega"
)

// Two kubeconfigs of one cluster may have different addresses, and authorities of before and after a
// rotation.
func TestKubeconfigsOfOneCluster(t *testing.T) {
	cluster := func(server string, authorities ...string) Cluster {
		var all []byte
		for _, each := range authorities {
			all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(each)})...)
		}
		return Cluster{server, authoritiesIn(all)}
	}
	const one, two = "https://one", "https://two"
	for name, test := range map[string]struct {
		a, b Cluster
		same bool
	}{
		"one address":                  {cluster(one, "x"), cluster(one, "y"), true},
		"one authority":                {cluster(one, "x"), cluster(two, "x"), true},
		"an authority that is rotated": {cluster(one, "x", "y"), cluster(two, "y"), true},
		"nothing in common":            {cluster(one, "x"), cluster(two, "y"), false},
		"no authority":                 {cluster(one, "x"), cluster(two), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(test.a.MayBe(test.b)).To(Equal(test.same))
			g.Expect(test.b.MayBe(test.a)).To(Equal(test.same))
		})
	}
}
