// SPDX-License-Identifier: Apache-2.0

package calico

import _ "embed"

// Scripts of helper containers. Their images are small, so the scripts use a POSIX shell, cp,
// ip, iptables, mv and sleep only.
var (
	//go:embed scripts/iptables.sh
	iptables string
	//go:embed scripts/cleanup-routes.sh
	cleanupRoutes string
	//go:embed scripts/cleanup-tunnel-routes.sh
	cleanupTunnelRoutes string
	//go:embed scripts/network-unavailable-condition-ensurer.sh
	ensureCondition string
	//go:embed scripts/log-mtu-issues.sh
	mtuRules string
	//go:embed scripts/add-snat-rule-to-upstream-dns.sh
	snatRules string
	//go:embed scripts/install-cni-plugins.sh
	installCNIPlugins string

	logMTUIssues      = iptables + "\n" + mtuRules
	snatToUpstreamDNS = iptables + "\n" + snatRules
)
