// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"

	"example.org/gardenet/helmchart"
	"github.com/trellis-network/trellis/plugin"
)

//go:embed all:chart
var files embed.FS

var gardenetChart = helmchart.MustLoad(files, "chart")

// charted is the same plugin, but renders the objects with a Helm chart.
type charted struct{ definition }

func (charted) Render(effective *NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	shoot, err := gardenetChart.Render(map[string]any{
		"field": effective.GardenetCustomConfigField, "ipamCIDR": effective.IPAM.CIDR,
		"podCIDR": in.PodCIDR, "maxUnavailable": in.MaxUnavailable, "image": images.For(name, in),
	}, in)
	return plugin.NewObjects(components, plugin.NetworkBundle(bundleName, shoot)), err
}
