// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net"
	"path/filepath"

	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/pki"
	"github.com/trellis-network/trellis/sandbox/internal/port"
	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
	"github.com/trellis-network/trellis/sandbox/internal/workdir"
)

// Seed is the name of the cluster that is garden and seed together.
const Seed = "seed"

// smallHeap makes components collect garbage at half the default growth. This
// costs little time and saves much memory.
var smallHeap = []string{"GOGC=50"}

// ControlPlane is one Kubernetes control plane: an API server, and the
// components that work against it.
type ControlPlane struct {
	// Name identifies the cluster: Seed, or shoots/NAMESPACE/NAME. It is also the
	// prefix in etcd and the path below pki, kubeconfigs and logs.
	Name string
	// IsShoot means that the cluster has nodes and all controllers.
	IsShoot bool
	Network options.Network
	Nodes   int
	// Authentication is the AuthenticationConfiguration of the API server, or empty.
	Authentication string
	// AuditPolicy is that of the API server, or empty.
	AuditPolicy string
	// Real is what the nodes are if they are real ones, and nil if they are simulated.
	Real *plan.Plan

	dir       *workdir.Dir
	port      *port.Reservation
	proxyPort *port.Reservation // nil without real nodes
	authority *pki.Authority
}

// NewSeed plans the seed. Close must be called when the cluster is gone.
func NewSeed(dir *workdir.Dir, wanted options.Up) (*ControlPlane, error) {
	return newControlPlane(&ControlPlane{Name: Seed, Network: wanted.Network, Authentication: wanted.Authentication, AuditPolicy: wanted.AuditPolicy, dir: dir})
}

// NewShoot plans one of the shoots that are wanted. Close must be called when the cluster is gone.
func NewShoot(dir *workdir.Dir, wanted options.Up, index int) (*ControlPlane, error) {
	shoot := wanted.Shoots[index]
	name := filepath.Join("shoots", shoot.Namespace, shoot.Name)
	c, err := newControlPlane(&ControlPlane{Name: name, IsShoot: true, Network: wanted.ShootNetwork(shoot), Nodes: shoot.Count, AuditPolicy: wanted.AuditPolicy, dir: dir})
	if err != nil || !shoot.Real {
		return c, err
	}
	if err := c.planNodes(*wanted.Real, shoot, index); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func newControlPlane(c *ControlPlane) (_ *ControlPlane, err error) {
	if c.port, err = port.Reserve(); err != nil {
		return nil, err
	}
	if c.authority, err = pki.NewAuthority("sandbox-ca"); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close releases the cluster's ports.
func (c *ControlPlane) Close() {
	c.port.Release()
	if c.proxyPort != nil {
		c.proxyPort.Release()
	}
}

// Server is the API server's URL.
func (c *ControlPlane) Server() string { return "https://" + c.port.Address() }

// identities maps the name of each of the control plane's own kubeconfigs to its
// user, followed by the user's groups.
func (c *ControlPlane) identities() map[string][]string {
	all := map[string][]string{
		Admin:             {"admin", "system:masters"},
		controllerManager: {"system:kube-controller-manager"},
	}
	if c.IsShoot {
		all[scheduler] = []string{"system:kube-scheduler"}
	}
	if c.IsShoot && c.Real == nil {
		// One process simulates all kubelets and updates the objects of each of
		// them, which the identity of a single node may not.
		all[nodes] = []string{"trellis-sandbox:nodes", "system:masters"}
	}
	return all
}

// Names of components, and of their kubeconfigs.
const (
	// Admin may do everything.
	Admin = "admin"

	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	nodes             = "nodes"
	gateway           = "gateway"
	realNodes         = "real-nodes"
)

// Kubeconfig is the file with an identity's credentials.
func (c *ControlPlane) Kubeconfig(identity string) string { return c.dir.Kubeconfig(c.Name, identity) }

// AdminKubeconfig makes one more admin kubeconfig, for the Secret in the garden.
func (c *ControlPlane) AdminKubeconfig() ([]byte, error) {
	return c.authority.Kubeconfig(c.published(), "admin", "system:masters")
}

// WriteUser writes the kubeconfig of a user and returns the file's path.
func (c *ControlPlane) WriteUser(user options.User) (string, error) {
	path := c.dir.UserKubeconfig(user.Name)
	return path, c.writeKubeconfig(path, user.Name, user.Groups...)
}

// WriteCredentials writes all certificates, keys and kubeconfigs.
func (c *ControlPlane) WriteCredentials() error {
	own, err := c.authority.Pair()
	if err != nil {
		return err
	}
	serving, err := c.authority.Serving(apiServer,
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		append([]net.IP{net.IPv4(127, 0, 0, 1), c.Network.APIServerIP().AsSlice()}, c.routers()...))
	if err != nil {
		return err
	}
	for name, pair := range map[string]pki.Pair{"ca": own, "apiserver": serving} {
		if err := pair.Write(c.dir.PKI(c.Name), name); err != nil {
			return err
		}
	}
	if err := pki.WriteSigningKey(c.file("service-accounts.key")); err != nil {
		return err
	}
	for identity, user := range c.identities() {
		if err := c.writeKubeconfig(c.Kubeconfig(identity), user[0], user[1:]...); err != nil {
			return err
		}
	}
	if c.Real != nil {
		return c.writeNodeCredentials()
	}
	return nil
}

func (c *ControlPlane) writeKubeconfig(path, user string, groups ...string) error {
	content, err := c.authority.Kubeconfig(pki.Server{Cluster: c.shortName(), URL: c.Server()}, user, groups...)
	if err != nil {
		return fmt.Errorf("make the kubeconfig of %s for %s: %w", user, c.Name, err)
	}
	return pki.WriteFile(path, content)
}

// AuditLog is the file to which the API server writes what it was asked, a line of JSON for each
// event. It is empty without an audit policy.
func (c *ControlPlane) AuditLog() string {
	if c.AuditPolicy == "" {
		return ""
	}
	return filepath.Join(c.dir.Logs(c.Name), "audit.log")
}

// shortName is the cluster's name in its kubeconfigs.
func (c *ControlPlane) shortName() string { return filepath.Base(c.Name) }

// file returns the path of one of the cluster's certificates and keys.
func (c *ControlPlane) file(name string) string { return filepath.Join(c.dir.PKI(c.Name), name) }

// component describes a process of this control plane.
func (c *ControlPlane) component(name string, stage process.Stage, args []string) process.Spec {
	return process.Spec{
		Component: name,
		Cluster:   c.Name,
		Stage:     stage,
		Args:      args,
		Env:       smallHeap,
		Dir:       c.dir.Etcd(),
		Log:       filepath.Join(c.dir.Logs(c.Name), name+".log"),
	}
}
