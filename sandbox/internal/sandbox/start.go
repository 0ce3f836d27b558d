// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-network/trellis/sandbox/internal/bootstrap"
	"github.com/trellis-network/trellis/sandbox/internal/cluster"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/progress"
	"github.com/trellis-network/trellis/sandbox/internal/workdir"
)

// starter starts the processes of a sandbox.
type starter struct {
	wanted options.Up
	dir    *workdir.Dir
	group  *process.Group
	log    *progress.Log

	seed   *cluster.ControlPlane
	shoots []*cluster.ControlPlane
}

// start starts all clusters and waits until they are ready. It returns an error
// if one cannot start or is not ready in time.
func (s *starter) start(ctx context.Context) (*Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.wanted.Timeout,
		fmt.Errorf("not ready within %s (--timeout)", s.wanted.Timeout))
	defer cancel()

	if err := s.plan(); err != nil {
		return nil, err
	}
	if err := s.startEtcd(ctx); err != nil {
		return nil, err
	}
	if err := s.startClusters(ctx); err != nil {
		return nil, err
	}
	garden, err := bootstrap.Connect(s.seed.Kubeconfig(cluster.Admin))
	if err != nil {
		return nil, err
	}
	if err := s.publishShoots(ctx, garden); err != nil {
		return nil, err
	}
	return s.report(garden)
}

// plan reserves the ports and writes the credentials that the processes need.
func (s *starter) plan() (err error) {
	if s.seed, err = cluster.NewSeed(s.dir, s.wanted); err != nil {
		return err
	}
	for i := range s.wanted.Shoots {
		planned, err := cluster.NewShoot(s.dir, s.wanted, i)
		if err != nil {
			return err
		}
		s.shoots = append(s.shoots, planned)
	}
	for _, c := range append([]*cluster.ControlPlane{s.seed}, s.shoots...) {
		if err := c.WriteCredentials(); err != nil {
			return err
		}
	}
	return s.linkKubectl()
}

// close releases the ports that plan reserved.
func (s *starter) close() {
	if s.seed != nil {
		s.seed.Close()
	}
	for _, c := range s.shoots {
		c.Close()
	}
}

func (s *starter) linkKubectl() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.dir.Kubectl()), 0o700); err != nil {
		return err
	}
	return os.Symlink(program, s.dir.Kubectl())
}

func (s *starter) startEtcd(ctx context.Context) error {
	if err := os.MkdirAll(s.dir.Etcd(), 0o700); err != nil {
		return err
	}
	if err := s.group.Start(cluster.Etcd(s.dir)); err != nil {
		return err
	}
	return s.await("etcd", func(note bootstrap.Note) error {
		return bootstrap.File(ctx, cluster.EtcdSocket(s.dir), note)
	})
}

// startClusters starts the clusters in parallel, at most as many at once as the
// machine has processors, since an API server keeps one busy while it starts.
func (s *starter) startClusters(ctx context.Context) error {
	clusters, ctx := errgroup.WithContext(ctx)
	clusters.SetLimit(max(2, runtime.NumCPU()))
	for _, c := range append([]*cluster.ControlPlane{s.seed}, s.shoots...) {
		clusters.Go(func() error { return s.startCluster(ctx, c) })
	}
	return clusters.Wait()
}

func (s *starter) startCluster(ctx context.Context, c *cluster.ControlPlane) error {
	client, err := bootstrap.Connect(c.Kubeconfig(cluster.Admin))
	if err != nil {
		return err
	}
	if err := s.group.Start(c.APIServer()); err != nil {
		return err
	}
	err = s.await(c.Name+": API server", func(note bootstrap.Note) error {
		return bootstrap.APIServer(ctx, client, note)
	})
	if err != nil {
		return err
	}
	for _, spec := range c.Clients() {
		if err := s.group.Start(spec); err != nil {
			return err
		}
	}
	if c.Real == nil {
		if err := bootstrap.RegisterNodes(ctx, client, c.Nodes); err != nil {
			return err
		}
	}
	err = s.await(c.Name+": service accounts", func(note bootstrap.Note) error {
		return bootstrap.ServiceAccounts(ctx, client, note)
	})
	if err != nil || c.Nodes == 0 {
		return err
	}
	if c.Real != nil {
		return s.finishRealNodes(ctx, c, client)
	}
	return s.await(fmt.Sprintf("%s: %d nodes", c.Name, c.Nodes), func(note bootstrap.Note) error {
		return bootstrap.Nodes(ctx, client, c.Nodes, note)
	})
}

func (s *starter) publishShoots(ctx context.Context, garden kubernetes.Interface) error {
	for i, shoot := range s.wanted.Shoots {
		kubeconfig, err := s.shoots[i].AdminKubeconfig()
		if err != nil {
			return err
		}
		if err := bootstrap.PublishKubeconfig(ctx, garden, shoot, kubeconfig); err != nil {
			return err
		}
	}
	return nil
}

func (s *starter) report(garden kubernetes.Interface) (*Report, error) {
	version, err := bootstrap.Version(garden)
	if err != nil {
		return nil, err
	}
	memory, err := used(s.group, s.wanted)
	if err != nil {
		return nil, err
	}
	report := &Report{
		Dir:               s.dir.Path(),
		PID:               os.Getpid(),
		KubernetesVersion: version,
		MemoryMiB:         memory,
		Kubectl:           s.dir.Kubectl(),
		Seed:              Seed{Server: s.seed.Server(), Kubeconfig: s.seed.Kubeconfig(cluster.Admin), AuditLog: s.seed.AuditLog(), Users: map[string]string{}},
		Shoots:            []Shoot{},
	}
	for _, user := range s.wanted.Users {
		if report.Seed.Users[user.Name], err = s.seed.WriteUser(user); err != nil {
			return nil, err
		}
	}
	for i, shoot := range s.wanted.Shoots {
		c := s.shoots[i]
		report.Shoots = append(report.Shoots, Shoot{
			Namespace: shoot.Namespace, Name: shoot.Name,
			Server: c.Server(), Kubeconfig: c.Kubeconfig(cluster.Admin), AuditLog: c.AuditLog(), Nodes: c.Nodes, RealNodes: realNodes(c),
		})
	}
	s.log.Printf("everything is ready: Kubernetes %s, %d processes, %d MiB of memory", version, len(s.group.PIDs())+1, report.MemoryMiB)
	return report, nil
}

// await runs wait as a step of the log.
func (s *starter) await(what string, wait func(bootstrap.Note) error) error {
	step := s.log.Begin("%s", what)
	return step.Done(wait(step.Status))
}
