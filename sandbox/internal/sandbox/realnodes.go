// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/trellis-network/trellis/sandbox/internal/bootstrap"
	"github.com/trellis-network/trellis/sandbox/internal/cluster"
	"github.com/trellis-network/trellis/sandbox/internal/needs"
	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/cgroups"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/system"
)

// checkRealNodes returns an options.Invalid that names all that the nodes need and this machine
// lacks: programs, cgroups and instances of inotify.
func checkRealNodes(wanted options.Up, planned needs.Counts) error {
	if wanted.Real == nil {
		return nil
	}
	errs := []error{checkPrograms(wanted.Real.Programs), checkInotify(planned)}
	if missing := missingPrograms(); len(missing) > 0 {
		errs = append(errs, options.Invalidf("real nodes need programs that are missing: %s; install them, or use simulated nodes", strings.Join(missing, ", ")))
	}
	if err := cgroups.Check(); err != nil {
		errs = append(errs, options.Invalidf("real nodes need cgroups: %v; or use simulated nodes", err))
	}
	return errors.Join(errs...)
}

// checkPrograms returns an options.Invalid if the directory of the nodes' programs lacks one that
// each node runs.
func checkPrograms(programs *nodeprograms.Programs) error {
	for _, program := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "kubelet"} {
		if _, err := os.Stat(filepath.Join(programs.Bin(), program)); err != nil {
			return options.Invalidf("--node-programs %s is not complete: %v; `go run ./test/sandbox/build -real-nodes` makes such a directory", programs.Dir, err)
		}
	}
	return nil
}

// missingPrograms are those that real nodes need of the machine and that it does not have.
func missingPrograms() []string {
	return slices.DeleteFunc([]string{"runc", "nft"}, func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	})
}

// guardCgroups removes the cgroups of killed sandboxes, and guards those of this one. It returns
// what removes them, and calls end if they are no longer guarded.
func guardCgroups(wanted options.Up, end func(error)) (removeOwn func() error, err error) {
	if wanted.Real == nil {
		return func() error { return nil }, nil
	}
	if err := cgroups.Sweep(); err != nil {
		return nil, err
	}
	own, err := cgroups.Name()
	if err != nil {
		return nil, err
	}
	guard, err := cgroups.NewGuard(own, end)
	if err != nil {
		return nil, err
	}
	return guard.Release, nil
}

// finishRealNodes waits until the nodes have registered, and installs what every cluster
// has. It does not wait until they are Ready, which takes a network for pods.
func (s *starter) finishRealNodes(ctx context.Context, c *cluster.ControlPlane, client kubernetes.Interface) error {
	objects, err := system.Objects(c.Network, c.Real, s.wanted.Real.Programs)
	if err != nil {
		return err
	}
	if err := s.create(ctx, c, objects); err != nil {
		return err
	}
	return s.await(fmt.Sprintf("%s: %d real nodes", c.Name, c.Nodes), func(note bootstrap.Note) error {
		return bootstrap.RealNodes(ctx, client, c.Nodes, note)
	})
}

// create creates objects of YAML documents in a cluster.
func (s *starter) create(ctx context.Context, c *cluster.ControlPlane, objects []byte) error {
	cmd := exec.CommandContext(ctx, s.dir.Kubectl(), "--kubeconfig", c.Kubeconfig(cluster.Admin), "create", "-f", "-")
	cmd.Stdin = bytes.NewReader(objects)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install kube-proxy and CoreDNS in %s: %w: %s", c.Name, err, output)
	}
	return nil
}

func realNodes(c *cluster.ControlPlane) []RealNode {
	if c.Real == nil {
		return nil
	}
	var all []RealNode
	for _, node := range c.Real.Nodes {
		real := RealNode{Name: node.Name}
		for _, address := range node.Addresses {
			real.Addresses = append(real.Addresses, address.Addr())
		}
		all = append(all, real)
	}
	return all
}
