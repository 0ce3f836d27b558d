// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestPathsAreThoseOfTheShoot(t *testing.T) {
	g := NewWithT(t)
	for network, shoot := range map[string]string{
		"spec.providerConfig.a":                           "spec.networking.providerConfig.a",
		"Spec.providerConfig: must not":                   "spec.networking.providerConfig: must not",
		"[spec.podCIDR: x, spec.serviceCIDR: y]":          "[spec.networking.pods: x, spec.networking.services: y]",
		"spec.ipFamilies[1] and spec.type":                "spec.networking.ipFamilies[1] and spec.networking.type",
		"shoot.spec.networking.nodes":                     "spec.networking.nodes",
		"spec.networking.providerConfig":                  "spec.networking.providerConfig",
		"daemonset.spec.type, spec.typed, inspec.podCIDR": "daemonset.spec.type, spec.typed, inspec.podCIDR",
	} {
		g.Expect(withShootPaths(network)).To(Equal(shoot))
	}
}

func TestTheAddressIsTheServers(t *testing.T) {
	for server, wanted := range map[string]string{
		"https://api.example.org":      "api.example.org:443",
		"https://api.example.org/path": "api.example.org:443",
		"http://api.example.org":       "api.example.org:80",
		"https://10.0.0.1:6443":        "10.0.0.1:6443",
		"https://[2001:db8::1]":        "[2001:db8::1]:443",
		"api.example.org":              "",
		"ftp://api.example.org":        "",
		"https://":                     "",
		"":                             "",
	} {
		g := NewWithT(t)
		address, err := addressOf(server)
		g.Expect(address).To(Equal(wanted), server)
		g.Expect(err == nil).To(Equal(wanted != ""), server)
	}
}

// The Network states one range of each; what is known of another IP family stays.
func TestRangesOfOtherFamiliesStay(t *testing.T) {
	g := NewWithT(t)
	for _, test := range []struct {
		cidr          string
		before, after []string
	}{
		{"", []string{"10.0.0.0/8"}, []string{"10.0.0.0/8"}},
		{"10.0.0.0/8", nil, []string{"10.0.0.0/8"}},
		{"10.0.0.0/8", []string{"10.0.0.0/8", "fd00::/48"}, []string{"10.0.0.0/8", "fd00::/48"}},
		{"10.0.0.0/8", []string{"fd00::/48", "11.0.0.0/8"}, []string{"fd00::/48", "10.0.0.0/8"}},
		{"fd00::/48", []string{"10.0.0.0/8"}, []string{"fd00::/48", "10.0.0.0/8"}},
	} {
		g.Expect(replaceRange(test.before, test.cidr)).To(Equal(test.after))
	}
}
