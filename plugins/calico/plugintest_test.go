// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/plugintest"
	"github.com/trellis-network/trellis/plugins/calico"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/sandbox"
)

// What every plugin must fulfil is tested in package plugintest; the tests beside this one are
// about Calico.
func TestPromises(t *testing.T) {
	contract.Shows(t, "P2", "P3", "P4")
	server, err := clientcmd.BuildConfigFromFlags("", sandbox.ForTest(t, sandbox.Options{}).Seed.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	options := []plugintest.Option{
		plugintest.Case{Name: "switches", Config: "{typha: {enabled: false}, vethMTU: '1440', serviceLoopPrevention: Reject, wireguardEncryption: true}"},
		plugintest.Case{Name: "eBPF", Config: "{ebpfDataplane: {enabled: true}, autoScaling: {mode: vpa, resources: {node: {cpu: 300m}}}}",
			In: func(f *plugin.Input) { f.VPA = true }},
		plugintest.Case{Name: "everything beside it", Config: "{birdExporter: {enabled: true}, multus: {enabled: true, installCNIPlugins: true}, autoScaling: {mode: static}}"},
		plugintest.Case{Name: "without encryption, and a greater MTU", Config: "{typha: {enabled: false}, vethMTU: '1500'}"},
		plugintest.Case{Name: "another spelling", Config: "{vethMTU: '+1440', ipam: {cidr: usepodcidr}}"},
		plugintest.WithWildcard("ClusterRole multus", "further networks are described in kinds of its own group, and it looks after all of them"),
		plugintest.WithAPIServer(server),
	}
	for _, each := range matrix {
		options = append(options, plugintest.Case{Name: each.name, Config: each.config})
	}
	plugintest.Run(t, calico.New(), options...)
}
