// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

const (
	// limit is the time that each of the steps after that may take. The status notices a cut and a
	// repair sooner, but this machine may be busy.
	limit = 2 * time.Minute
	// cutNode is the node whose link is cut.
	cutNode = "node-2"
)

// showPackets applies a Shoot with real nodes, and shows that its pods talk, that the status
// notices when the link of a node is cut, and that it notices the repair.
func (d *demo) showPackets(ctx context.Context, shoot *unstructured.Unstructured) error {
	fmt.Printf("\nA second shoot has %d real nodes, on which containers run and send packets.\n\n", planned.RealNodes)
	if err := d.apply(ctx, shoot); err != nil {
		return err
	}
	if err := d.follow(ctx, append(d.steps(), d.nodesReady, d.podsTalk)); err != nil {
		return err
	}
	if err := d.showConnectivity(ctx); err != nil {
		return err
	}
	d.say("the link of %s will be cut once the probes have reached each target %d times: until then failures of a new node do not count", cutNode, standalone.ProvenAfter)
	if err := d.within(ctx, d.targetsProven); err != nil {
		return err
	}
	link := d.shoot.Node(cutNode)
	cut := time.Now()
	if err := link.Fault(ctx, sandbox.Faults{LinkDown: true}); err != nil {
		return err
	}
	d.say("the link of %s is cut, as if its cable was pulled", cutNode)
	if err := d.notice(ctx, corev1beta1.ConditionFalse, "the cut", cut); err != nil {
		return err
	}
	if err := d.showConnectivity(ctx); err != nil {
		return err
	}
	repaired := time.Now()
	if err := link.Heal(ctx); err != nil {
		return err
	}
	d.say("the link of %s is repaired", cutNode)
	if err := d.notice(ctx, corev1beta1.ConditionTrue, "the repair", repaired); err != nil {
		return err
	}
	return d.showConnectivity(ctx)
}

// notice waits until the Network's status states whether pods talk, and prints how long that took.
func (d *demo) notice(ctx context.Context, status corev1beta1.ConditionStatus, what string, since time.Time) error {
	return d.within(ctx, func(ctx context.Context) (string, string, error) {
		health, err := d.shoot.Health(ctx)
		if err != nil || health.Pods.Status != status || status == corev1beta1.ConditionTrue && health.Verdict != standalone.AllWell {
			return "", "the Network's status to notice " + what, err
		}
		return fmt.Sprintf("the status noticed %s after %.1f s: PodNetworkAvailable is %s, %s", what, time.Since(since).Seconds(), status, health.Pods.Message), "", nil
	})
}

// within awaits one step for a limited time.
func (d *demo) within(ctx context.Context, s step) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return d.await(ctx, s)
}

func (d *demo) nodesReady(ctx context.Context) (string, string, error) {
	nodes := &corev1.NodeList{}
	if err := d.shoot.Cluster.List(ctx, nodes); err != nil {
		return "", "the nodes", err
	}
	ready := 0
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready < planned.RealNodes {
		return "", fmt.Sprintf("nodes: %d of %d Ready", ready, planned.RealNodes), nil
	}
	return fmt.Sprintf("%d nodes are Ready", ready), "", nil
}

func (d *demo) podsTalk(ctx context.Context) (string, string, error) {
	health, err := d.shoot.Health(ctx)
	if err != nil || health.Verdict != standalone.AllWell {
		return "", fmt.Sprintf("the probes to tell that pods talk; so far the status tells %q", health.Verdict), err
	}
	return "pods talk: " + health.Pods.Message, "", nil
}

// targetsProven awaits reports by which the probes have reached all their targets often enough.
func (d *demo) targetsProven(ctx context.Context) (string, string, error) {
	unproven, all, err := d.shoot.Unproven(ctx)
	if err != nil || len(unproven) > 0 {
		return "", fmt.Sprintf("the reports to tell that each of %d targets was reached %d times; %d were not yet", all, standalone.ProvenAfter, len(unproven)), err
	}
	return fmt.Sprintf("each of %d targets was reached %d times", all, standalone.ProvenAfter), "", nil
}

// showConnectivity runs the commands that show how the Network is.
func (d *demo) showConnectivity(ctx context.Context) error {
	namespace, err := d.controlPlane(ctx)
	if err != nil {
		return err
	}
	for _, command := range []string{"status", "connectivity"} {
		if err := d.run(ctx, command, d.shoot.Key().Name, "-n", namespace); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// run runs Trellis' command line on the seed. It is no error that a Network is not well.
func (d *demo) run(ctx context.Context, args ...string) error {
	const notWell = 1
	fmt.Printf("\n$ trellis %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, d.trellis, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.Sandbox.Seed.Kubeconfig)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == notWell {
		return nil
	}
	if err != nil {
		return fmt.Errorf("trellis %s: %w", args[0], err)
	}
	return nil
}
