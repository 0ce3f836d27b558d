// SPDX-License-Identifier: Apache-2.0

// Package providers is the list of the infrastructures that Trellis knows: what each allows pod
// networks, and what makes routes to pods there. The facts come from Gardener's provider
// extensions and from the clouds' documents. Each plugin decides what follows from a fact.
package providers

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/alicloud"
	"github.com/trellis-network/trellis/providers/aws"
	"github.com/trellis-network/trellis/providers/azure"
	"github.com/trellis-network/trellis/providers/gcp"
	"github.com/trellis-network/trellis/providers/local"
	"github.com/trellis-network/trellis/providers/openstack"
)

// All returns the providers, one line each.
func All() []plugin.Provider {
	return []plugin.Provider{
		alicloud.Provider,
		aws.Provider,
		azure.Provider,
		gcp.Provider,
		local.Provider,
		openstack.Provider,
	}
}
