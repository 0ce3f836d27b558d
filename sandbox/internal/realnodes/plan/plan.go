// SPDX-License-Identifier: Apache-2.0

// Package plan says what the real nodes of a shoot are: their addresses, files and
// credentials. The supervisor writes a plan into a file, and the processes that run the
// nodes read it.
package plan

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
)

// Plan is what the real nodes of one shoot are.
type Plan struct {
	// Shoot is the shoot as NAMESPACE/NAME, for messages.
	Shoot   string   `json:"shoot"`
	Subnets []Subnet `json:"subnets"`
	Nodes   []Node   `json:"nodes"`

	// Cgroup is the name of the cgroup that has those of the nodes in it.
	Cgroup string `json:"cgroup"`
	// Logs is the directory for the logs of the nodes' processes.
	Logs string `json:"logs"`
	// Kubeconfig is the file with an admin's credentials on the machine.
	Kubeconfig string `json:"kubeconfig"`
	// Control is the socket on which the nodes' manager takes commands.
	Control string `json:"control"`
	// Kubelets is the socket on which the manager takes connections of the API server to
	// nodes, as HTTP CONNECT.
	Kubelets string `json:"kubelets"`
	// Gateway is the socket on which the gateway takes connections of nodes and pods to the
	// API server, and Outward those of nodes to registries, as HTTP CONNECT.
	Gateway string `json:"gateway"`
	Outward string `json:"outward"`
	// OutwardPort is the port of the router at which nodes find Outward. It is for those who
	// know OutwardPassword, of the user OutwardUser: the pods of a shoot reach the port too.
	OutwardPort     uint16 `json:"outwardPort"`
	OutwardPassword string `json:"outwardPassword"`
	// Registries are the registries that the user names.
	Registries []Registry `json:"registries"`
	// Proxy is the address at which clients on the machine reach APIServer, as HTTP CONNECT.
	Proxy netip.AddrPort `json:"proxy"`

	// APIServer is the address and port at which nodes and pods reach the API server. It is
	// at a router.
	APIServer netip.AddrPort `json:"apiServer"`
	// APIServerOnMachine is the API server's own address and port.
	APIServerOnMachine netip.AddrPort `json:"apiServerOnMachine"`
	// ClusterDNS are the addresses of the Service of CoreDNS, one of each family.
	ClusterDNS []netip.Addr `json:"clusterDNS"`

	// ClientCA is the file with the certificate of the authority of kubelets' clients.
	ClientCA string `json:"clientCA"`
	// Programs is the directory with the nodes' programs, and CNI the one with CNI plugins.
	Programs string `json:"programs"`
	CNI      string `json:"cni"`
	// Pause is the reference of the image that holds the namespaces of pods.
	Pause string `json:"pause"`
	// Images are the archives of images that every node has. They are imported once, into the
	// root of Importer, and the nodes get links to the files.
	Images   []string `json:"images"`
	Importer Node     `json:"importer"`
}

// OutwardUser is the user of the proxy to registries.
const OutwardUser = "containerd"

// Registry is a registry that nodes reach wherever it is.
type Registry struct {
	// Name is the host and port in the names of images, as host:port.
	Name string `json:"name"`
	// Address is where it is, as host:port, or empty if that follows from the name.
	Address string `json:"address,omitempty"`
}

// Subnet is a network segment of nodes, a bridge. The sandbox's own network namespace has
// all bridges and routes between them.
type Subnet struct {
	// Name is the name of the bridge.
	Name string `json:"name"`
	// Routers are the bridge's own addresses with the masks of the segment, one of each
	// family. Nodes send to them what is not for their own segment.
	Routers []netip.Prefix `json:"routers"`
}

// Node is one real node.
type Node struct {
	// Name is the name of the Node object, the host name, and the name of the bridge's port.
	Name string `json:"name"`
	// Subnet is the index of the node's segment in Plan.Subnets.
	Subnet int `json:"subnet"`
	// Addresses are the node's addresses with the masks of its segment, one of each family.
	Addresses []netip.Prefix `json:"addresses"`
	// Root is the directory that becomes the node's root. It is the state of the node, and
	// stays while the node is down.
	Root string `json:"root"`
	// Kubeconfig, Certificate and Key are files of the kubelet.
	Kubeconfig  string `json:"kubeconfig"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

// Read reads a plan from a file.
func Read(path string) (*Plan, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	if err := json.Unmarshal(content, p); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return p, nil
}

// Write writes the plan into a file that only the user can read.
func (p *Plan) Write(path string) error {
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// Node returns the index of the node with this name, or an error that names those that
// there are.
func (p *Plan) Node(name string) (int, error) {
	index := slices.IndexFunc(p.Nodes, func(n Node) bool { return n.Name == name })
	if index >= 0 {
		return index, nil
	}
	var names []string
	for _, node := range p.Nodes {
		names = append(names, node.Name)
	}
	return 0, fmt.Errorf("there is no node %q; there are %q", name, names)
}
