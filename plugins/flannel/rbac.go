// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// account is the name of the daemon's identity and of its role.
const account = "flannel"

// access is what the daemon may do: find its own node, by its pod, read the ranges and
// addresses of all, and tell its own in annotations.
var access = plugin.Constants(
	system.ServiceAccount(account),
	system.ClusterRole(account,
		system.Rule("", []string{"pods"}, "get"),
		system.Rule("", []string{"nodes"}, "get", "list", "watch"),
		system.Rule("", []string{"nodes/status"}, "patch"),
	),
	system.ClusterRoleBinding(account, system.Account(account)),
)
