// SPDX-License-Identifier: Apache-2.0

// Command flannel-cni is the CNI plugin that nodes have as /opt/cni/bin/flannel. It gives pods
// an interface by delegating to another plugin, bridge unless configured otherwise, with what
// flannel's daemon has found out about the node. It reads and writes what flannel's own CNI
// plugin does, so that either can go on where the other has begun; see README.md beside go.mod.
package main

import (
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/version"
)

func main() {
	skel.PluginMainFuncs(skel.CNIFuncs{Add: add, Check: check, Del: del, GC: collect, Status: status}, version.All, "CNI plugin flannel, of Trellis")
}
