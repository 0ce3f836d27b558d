// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/process"
)

// issuer signs service account tokens and is their default audience.
const issuer = "https://kubernetes.default.svc.cluster.local"

// audiences are the audiences that the API server accepts in tokens. Gardener
// requests tokens for an audience of its own.
var audiences = []string{issuer, "gardener"}

// seedControllers are the controllers that an operator needs in a cluster
// without pods. They delete namespaces and owned objects, create service accounts
// and their tokens, and give the aggregated ClusterRoles (admin, edit, view) their
// rules.
var seedControllers = []string{
	"clusterrole-aggregation-controller",
	"namespace-controller",
	"garbage-collector-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
}

// APIServer describes the API server.
func (c *ControlPlane) APIServer() process.Spec {
	args := []string{
		"--etcd-servers=" + etcdClientURL,
		"--etcd-prefix=/" + c.Name,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.port.Port()),
		"--permit-port-sharing", // with the reservation
		"--service-cluster-ip-range=" + options.Join(c.Network.Services),
		"--tls-cert-file=" + c.file("apiserver.crt"),
		"--tls-private-key-file=" + c.file("apiserver.key"),
		"--client-ca-file=" + c.file("ca.crt"),
		"--service-account-issuer=" + issuer,
		"--api-audiences=" + strings.Join(audiences, ","),
		"--service-account-key-file=" + c.file("service-accounts.key"),
		"--service-account-signing-key-file=" + c.file("service-accounts.key"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--profiling=false",
		// The kubernetes Service cannot have an endpoint on the loopback interface. Real nodes have
		// one for it among their objects.
		"--endpoint-reconciler-type=none",
	}
	if c.Authentication != "" {
		args = append(args, "--authentication-config="+c.Authentication)
	}
	if log := c.AuditLog(); log != "" {
		args = append(args, "--audit-policy-file="+c.AuditPolicy, "--audit-log-path="+log)
	}
	if c.Real != nil {
		return c.component(apiServer, process.Server, append(args, c.withRealNodes()...))
	}
	args = append(args, "--advertise-address=127.0.0.1")
	return c.component(apiServer, process.Server, args)
}

// ControllerManager describes the controller-manager. In a shoot it has all
// default controllers, in the seed only seedControllers. It serves no port: the
// sandbox waits for what it creates instead.
func (c *ControlPlane) ControllerManager() process.Spec {
	args := []string{
		"--kubeconfig=" + c.Kubeconfig(controllerManager),
		"--secure-port=0",
		"--leader-elect=false",
		"--profiling=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + c.file("service-accounts.key"),
		"--root-ca-file=" + c.file("ca.crt"),
		// With the default of 20 a second, dozens of controllers wait for their
		// tokens, and rollouts for their pods.
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		// The controller-manager creates this directory. The default is outside the
		// sandbox.
		"--flex-volume-plugin-dir=" + filepath.Join(c.dir.Etcd(), "flexvolume"),
	}
	if !c.IsShoot {
		args = append(args, "--controllers="+strings.Join(seedControllers, ","))
		return c.component(controllerManager, process.Client, args)
	}
	args = append(args,
		"--allocate-node-cidrs",
		"--cluster-cidr="+options.Join(c.Network.Pods),
		"--service-cluster-ip-range="+options.Join(c.Network.Services),
		"--cluster-signing-cert-file="+c.file("ca.crt"),
		"--cluster-signing-key-file="+c.file("ca.key"),
	)
	args = append(args, c.nodeMasks()...)
	return c.component(controllerManager, process.Client, args)
}

// Scheduler describes a shoot's scheduler.
func (c *ControlPlane) Scheduler() process.Spec {
	return c.component(scheduler, process.Client, []string{
		"--kubeconfig=" + c.Kubeconfig(scheduler),
		"--secure-port=0",
		"--leader-elect=false",
		"--profiling=false",
	})
}

// SimulatedNodes describes the process that simulates the kubelets of a shoot.
func (c *ControlPlane) SimulatedNodes() process.Spec {
	return c.component(nodes, process.Client, []string{
		"--kubeconfig=" + c.Kubeconfig(nodes),
		"--pod-cidr=" + c.Network.Pods[0].String(),
	})
}

// nodeMasks are the sizes of the pod ranges that each node gets.
func (c *ControlPlane) nodeMasks() []string {
	if len(c.Network.Pods) == 2 {
		return []string{
			fmt.Sprintf("--node-cidr-mask-size-ipv4=%d", options.NodeMaskSize),
			fmt.Sprintf("--node-cidr-mask-size-ipv6=%d", options.IPv6NodeMaskSize),
		}
	}
	size := options.NodeMaskSize
	if c.Network.Pods[0].Addr().Is6() {
		size = options.IPv6NodeMaskSize
	}
	return []string{fmt.Sprintf("--node-cidr-mask-size=%d", size)}
}

// Clients describes the components that start once the API server is ready.
func (c *ControlPlane) Clients() []process.Spec {
	if !c.IsShoot {
		return []process.Spec{c.ControllerManager()}
	}
	if c.Real != nil {
		return []process.Spec{c.ControllerManager(), c.Scheduler(), c.Gateway(), c.RealNodes()}
	}
	return []process.Spec{c.ControllerManager(), c.Scheduler(), c.SimulatedNodes()}
}
