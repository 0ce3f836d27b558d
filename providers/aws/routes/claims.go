// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// claims are the destinations of the routes that Make has made in one table for one cluster. Routes
// have no tags, so the table's tags have the claims: each tag has destinations of one IP family and
// prefix length, of which only the bytes that matter, in base64. A /24 takes 4 characters, so that 64
// routes fit into one tag, and those of a full table into 8 of the 50 tags that a table can have.
//
// A route is claimed before it is made, and given up after it is deleted. So no crash leaves a route
// without a claim.
type claims map[netip.Prefix]bool

// maxTagValue is how many characters the value of a tag has at most, and perPage how many bytes
// they encode.
const (
	maxTagValue = 256
	perPage     = maxTagValue / 4 * 3
)

// tagPrefix begins the keys of the tags with a cluster's claims. The rest is family, prefix length
// and number: 4-24-0.
func tagPrefix(cluster string) string { return "trellis.network/pod-routes/" + cluster + "/" }

// isClaims reports whether a tag has claims of a cluster.
func isClaims(cluster, key string) bool { return strings.HasPrefix(key, tagPrefix(cluster)) }

// decodeClaims returns the claims of a cluster in the tags of a table. What is no claim is none: a
// route must not be touched because a user has edited a tag.
func decodeClaims(cluster string, tags map[string]string) claims {
	found := claims{}
	for key, value := range tags {
		page, ours := strings.CutPrefix(key, tagPrefix(cluster))
		parts := strings.Split(page, "-")
		if !ours || len(parts) != 3 {
			continue
		}
		size := map[string]int{"4": 4, "6": 16}[parts[0]]
		bits, err := strconv.Atoi(parts[1])
		if err != nil || size == 0 || bits < 1 || bits > 8*size {
			continue
		}
		raw, err := base64.RawStdEncoding.DecodeString(value)
		if err != nil {
			continue
		}
		for entry := range slices.Chunk(raw, length(bits)) {
			address, _ := netip.AddrFromSlice(append(slices.Clone(entry), make([]byte, size-len(entry))...))
			if prefix := netip.PrefixFrom(address, bits); len(entry) == length(bits) && prefix == prefix.Masked() {
				found[prefix] = true
			}
		}
	}
	return found
}

// length returns how many bytes of an address a prefix length covers.
func length(bits int) int { return (bits + 7) / 8 }

// encode returns the tags with the claims.
func (c claims) encode(cluster string) map[string]string {
	type group struct{ family, bits int }
	raw := map[group][]byte{}
	for _, prefix := range slices.SortedFunc(maps.Keys(c), netip.Prefix.Compare) {
		g := group{6, prefix.Bits()}
		if prefix.Addr().Is4() {
			g.family = 4
		}
		raw[g] = append(raw[g], prefix.Addr().AsSlice()[:length(g.bits)]...)
	}
	tags := map[string]string{}
	for g, all := range raw {
		entry := length(g.bits)
		page := 0
		for chunk := range slices.Chunk(all, perPage/entry*entry) {
			tags[fmt.Sprintf("%s%d-%d-%d", tagPrefix(cluster), g.family, g.bits, page)] = base64.RawStdEncoding.EncodeToString(chunk)
			page++
		}
	}
	return tags
}
