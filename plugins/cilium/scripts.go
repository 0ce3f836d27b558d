// SPDX-License-Identifier: Apache-2.0

package cilium

import _ "embed"

// Scripts of helper containers. They need a POSIX shell and the tools of the agent's image.
var (
	//go:embed scripts/disable-rp-filter.sh
	disableRPFilter string
	//go:embed scripts/mount-cgroup.sh
	mountCgroup string
	//go:embed scripts/apply-sysctl-overwrites.sh
	applySysctl string
	//go:embed scripts/mount-bpf-fs.sh
	mountBPF string
	//go:embed scripts/kube-proxy-clean-up.sh
	cleanUpKubeProxy string

	//go:embed scripts/masquerade.sh
	masquerade string
	//go:embed scripts/add-snat-rule-to-upstream-dns.sh
	upstreamDNSRules string
	//go:embed scripts/add-snat-rule-to-outside-world.sh
	outsideWorldRules string
)

// scripts are what the agent's containers run, by their names.
var scripts = map[string]string{
	"disable-rp-filter":       disableRPFilter,
	"mount-cgroup":            mountCgroup,
	"apply-sysctl-overwrites": applySysctl,
	"mount-bpf-fs":            mountBPF,
	kubeProxyCleanUpName:      cleanUpKubeProxy,
	upstreamDNSName:           masquerade + "\n" + upstreamDNSRules,
	outsideWorldName:          masquerade + "\n" + outsideWorldRules,
}
