// SPDX-License-Identifier: Apache-2.0

// Package system has what the sandbox installs in a shoot with real nodes, as Gardener does
// in every shoot: kube-proxy and CoreDNS. The network for pods is not part of it.
package system

import (
	"bytes"
	_ "embed" // the manifests
	"fmt"
	"net/netip"
	"strings"
	"text/template"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

//go:embed system.yaml
var manifests string

// Objects returns the objects as YAML documents.
func Objects(network options.Network, p *plan.Plan, programs *nodeprograms.Programs) ([]byte, error) {
	kubeProxy, err := programs.Image(nodeprograms.KubeProxy)
	if err != nil {
		return nil, err
	}
	coreDNS, err := programs.Image(nodeprograms.CoreDNS)
	if err != nil {
		return nil, err
	}
	var dns, families []string
	for _, address := range p.ClusterDNS {
		dns = append(dns, fmt.Sprintf("%q", address))
		families = append(families, family(address))
	}
	var objects bytes.Buffer
	err = template.Must(template.New("").Parse(manifests)).Execute(&objects, map[string]any{
		"KubeProxy": kubeProxy.Reference,
		"CoreDNS":   coreDNS.Reference,
		"Pods":      options.Join(network.Pods),
		"Host":      p.APIServer.Addr(),
		"Port":      p.APIServer.Port(),
		"Family":    family(p.APIServer.Addr()),
		"FirstDNS":  p.ClusterDNS[0],
		"DNS":       strings.Join(dns, ", "),
		"Families":  strings.Join(families, ", "),
	})
	return objects.Bytes(), err
}

func family(address netip.Addr) string {
	if address.Is4() {
		return "IPv4"
	}
	return "IPv6"
}
