// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/pki"
	"github.com/trellis-network/trellis/sandbox/internal/port"
	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/cgroups"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// outwardPort is the port of routers that real nodes use as a proxy.
const outwardPort = 3128

// apiServerPort is the port of routers at which nodes and pods reach the API server. Policies
// for pods allow it by its usual number.
const apiServerPort = 443

// egress makes the API server connect to nodes by a proxy, since they are in a network
// namespace of their own. The socket is in its working directory.
const egress = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {uds: {udsName: %s}}
`

// planNodes plans the real nodes of the shoot with this index.
func (c *ControlPlane) planNodes(wanted options.RealNodes, shoot options.Shoot, index int) (err error) {
	if c.proxyPort, err = port.Reserve(); err != nil {
		return err
	}
	cgroup, err := cgroups.Name()
	if err != nil {
		return err
	}
	pause, err := wanted.Programs.Image(nodeprograms.Pause)
	if err != nil {
		return err
	}
	dir := c.dir.Nodes(c.Name)
	socket := func(name string) string { return filepath.Join(c.dir.Etcd(), fmt.Sprintf("%s-%d", name, index)) }
	p := &plan.Plan{
		Shoot:              shoot.String(),
		Cgroup:             fmt.Sprintf("%s/shoot-%d", cgroup, index),
		Logs:               c.dir.Logs(c.Name),
		Kubeconfig:         c.Kubeconfig(Admin),
		Control:            c.dir.ControlSocket(c.Name),
		Kubelets:           socket("kubelets"),
		Gateway:            socket("gateway"),
		Outward:            socket("outward"),
		OutwardPort:        outwardPort,
		OutwardPassword:    rand.Text(),
		Registries:         wanted.Registries,
		Proxy:              netip.MustParseAddrPort(c.proxyPort.Address()),
		APIServerOnMachine: netip.MustParseAddrPort(c.port.Address()),
		ClusterDNS:         c.Network.ClusterDNS(),
		ClientCA:           c.file("ca.crt"),
		Programs:           wanted.Programs.Bin(),
		CNI:                wanted.Programs.CNI(),
		Pause:              pause.Reference,
	}
	for _, image := range wanted.Programs.Images {
		p.Images = append(p.Images, image.Archive)
	}
	p.Images = append(p.Images, wanted.Images...)
	layout := wanted.Layout
	layout.Nodes = shoot.Count
	p.Subnets, p.Nodes = layout.Lay()
	p.APIServer = netip.AddrPortFrom(p.Subnets[0].Routers[0].Addr(), apiServerPort)
	for i := range p.Nodes {
		node := &p.Nodes[i]
		node.Root = filepath.Join(dir, node.Name)
		node.Kubeconfig = c.Kubeconfig(node.Name)
		node.Certificate, node.Key = c.file(node.Name+".crt"), c.file(node.Name+".key")
	}
	p.Importer = plan.Node{Name: "importer", Root: filepath.Join(dir, "importer")}
	c.Real = p
	return nil
}

// routers are the addresses at which nodes and pods reach the API server.
func (c *ControlPlane) routers() []net.IP {
	var all []net.IP
	if c.Real != nil {
		for _, subnet := range c.Real.Subnets {
			for _, router := range subnet.Routers {
				all = append(all, router.Addr().AsSlice())
			}
		}
	}
	return all
}

// published is the server of the kubeconfig in the garden. With real nodes, it has the
// address at which pods reach the API server, and a proxy by which clients on the machine
// reach that.
func (c *ControlPlane) published() pki.Server {
	server := pki.Server{Cluster: c.shortName(), URL: c.Server()}
	if c.Real != nil {
		server.URL, server.Proxy = "https://"+c.Real.APIServer.String(), "http://"+c.Real.Proxy.String()
	}
	return server
}

// writeNodeCredentials writes the plan of the nodes, and what they and the API server need to
// trust each other.
func (c *ControlPlane) writeNodeCredentials() error {
	client, err := c.authority.Client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return err
	}
	if err := client.Write(c.dir.PKI(c.Name), "kubelet-client"); err != nil {
		return err
	}
	for _, node := range c.Real.Nodes {
		if err := c.writeNode(node); err != nil {
			return err
		}
	}
	if err := pki.WriteFile(c.file("egress.yaml"), fmt.Appendf(nil, egress, filepath.Base(c.Real.Kubelets))); err != nil {
		return err
	}
	return c.Real.Write(c.planFile())
}

func (c *ControlPlane) writeNode(node plan.Node) error {
	var addresses []net.IP
	for _, address := range node.Addresses {
		addresses = append(addresses, address.Addr().AsSlice())
	}
	serving, err := c.authority.Serving("system:node:"+node.Name, []string{node.Name}, addresses)
	if err != nil {
		return err
	}
	if err := serving.Write(c.dir.PKI(c.Name), node.Name); err != nil {
		return err
	}
	server := pki.Server{Cluster: c.shortName(), URL: "https://" + c.Real.APIServer.String()}
	kubeconfig, err := c.authority.Kubeconfig(server, "system:node:"+node.Name, "system:nodes")
	if err != nil {
		return err
	}
	return pki.WriteFile(node.Kubeconfig, kubeconfig)
}

func (c *ControlPlane) planFile() string { return filepath.Join(c.dir.Nodes(c.Name), "plan.json") }

// withRealNodes are the flags of an API server that has real nodes.
func (c *ControlPlane) withRealNodes() []string {
	return []string{
		"--advertise-address=" + c.Real.APIServer.Addr().String(),
		"--egress-selector-config-file=" + c.file("egress.yaml"),
		"--kubelet-certificate-authority=" + c.file("ca.crt"),
		"--kubelet-client-certificate=" + c.file("kubelet-client.crt"),
		"--kubelet-client-key=" + c.file("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
	}
}

// Gateway describes the process that connects real nodes with the machine.
func (c *ControlPlane) Gateway() process.Spec {
	return c.component(gateway, process.Client, []string{c.planFile()})
}

// RealNodes describes the process that runs the real nodes.
func (c *ControlPlane) RealNodes() process.Spec {
	spec := c.component(realNodes, process.Client, []string{c.planFile()})
	spec.Namespaces = unix.CLONE_NEWNET
	return spec
}
