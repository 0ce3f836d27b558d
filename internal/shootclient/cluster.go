// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"crypto/sha256"
	"encoding/pem"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Cluster is what a kubeconfig tells of the cluster that it leads to. Nothing of it comes from the
// cluster.
type Cluster struct {
	// Server is the address of the API server.
	Server string
	// Authorities are hashes of the certificates of which one signs that of the API server. Each
	// cluster has its own, and for a time two while they are rotated.
	Authorities sets.Set[[sha256.Size]byte]
}

// MayBe reports whether two kubeconfigs may lead to the same cluster: they have an address or an
// authority in common, or one names no authority.
func (c Cluster) MayBe(other Cluster) bool {
	return c.Server == other.Server || c.Authorities.Len() == 0 || other.Authorities.Len() == 0 ||
		c.Authorities.HasAny(other.Authorities.UnsortedList()...)
}

// authoritiesIn returns the hashes of the certificates in PEM.
func authoritiesIn(certificates []byte) sets.Set[[sha256.Size]byte] {
	found := sets.New[[sha256.Size]byte]()
	for {
		var block *pem.Block
		if block, certificates = pem.Decode(certificates); block == nil {
			return found
		}
		found.Insert(sha256.Sum256(block.Bytes))
	}
}
