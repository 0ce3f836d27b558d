// SPDX-License-Identifier: Apache-2.0

package calico

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugin/system"
)

const multusName = "multus"

// multus returns the objects of Multus, which gives pods further networks.
func (n *network) multus() []plugin.Object {
	if !n.config.Multus.Enabled {
		return nil
	}
	objects := multusObjects(n.in)
	pod := &manifest.Workload[*appsv1.DaemonSet](objects).Spec.Template.Spec
	manifest.Container(pod, "install-cni-plugins").Command = system.Shell(installCNIPlugins)
	manifest.Keep(pod, map[string]bool{"install-cni-plugins": n.config.Multus.InstallCNIPlugins})
	return objects
}
