// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A kubeconfig that would take minutes and gigabytes to decode is not decoded.
func TestKubeconfigsThatGrowAreRefused(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, test := range map[string]struct{ kubeconfig, problem string }{
		"aliases of a long text":  {"extensions: {a: &a \"" + long + "\", b: [" + strings.Repeat("*a, ", 3000) + "]}", "has a YAML anchor or alias"},
		"an anchor":               {"apiVersion: &v v1", "has a YAML anchor or alias"},
		"an anchor at the top":    {"&top\nkind: Config", "has a YAML anchor or alias"},
		"a merge key":             {"a: &a {b: c}\nd: {<<: *a}", "has a YAML anchor or alias"},
		"in a flow mapping":       {"{a: &a x, b: *a}", "has a YAML anchor or alias"},
		"more than 256 kB":        {strings.Repeat(long, 3), "has 300000 bytes; at most 262144 are allowed"},
		"one that is broken":      {"a: &a [", "is not YAML"},
		"a token with such signs": {string(kubeconfigOf(`"server":"https://shoot.example","tls-server-name":"*&a"`)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := NewWithT(t), error(nil)
			g.Expect(allocated(func() { _, err = Config([]byte(test.kubeconfig)) })).To(BeNumerically("<", 32<<20))
			if test.problem == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
			}
		})
	}
}

// What is in a URL is in errors, statuses and log lines.
func TestCredentialsInURLsAreRefusedAndNotTold(t *testing.T) {
	for name, cluster := range map[string]string{
		"a password":             `"server":"https://admin:s3cr3t@shoot.example"`,
		"a password of a proxy":  `"server":"https://shoot.example","proxy-url":"http://admin:s3cr3t@proxy.example"`,
		"a token in a query":     `"server":"https://shoot.example/?token=s3cr3t"`,
		"a fragment":             `"server":"https://shoot.example/#s3cr3t"`,
		"a URL that is none":     `"server":"https://admin:s3cr3t@shoot.example:port:s3cr3t"`,
		"a password, but no URL": `"server":"admin:s3cr3t@shoot.example"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Config(kubeconfigOf(cluster))
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(`cluster "c" has a user, a query or a fragment`), Not(ContainSubstring("s3cr3t")))))
		})
	}
}
