// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	// proven is how often a target must have been reached for its failures to count, while its node
	// is new; see docs/design.md, "Connectivity".
	proven = 3
	// limit is the time that each of the steps after that may take. The status notices a cut and a
	// repair sooner, but this machine may be busy.
	limit = 2 * time.Minute
	// cutNode is the node whose link is cut.
	cutNode = "node-2"
)

// showPackets applies a Shoot with real nodes, and shows that its pods talk, that the status
// notices when the link of a node is cut, and that it notices the repair.
func (d *demo) showPackets(ctx context.Context, shoot *unstructured.Unstructured) error {
	fmt.Printf("\nA second shoot has %d real nodes, on which containers run and send packets.\n\n", realNodes)
	if err := d.apply(ctx, shoot); err != nil {
		return err
	}
	if err := d.follow(ctx, append(d.steps(), d.nodesReady, d.podsTalk)); err != nil {
		return err
	}
	if err := d.showConnectivity(ctx); err != nil {
		return err
	}
	d.say("the link of %s will be cut once the probes have reached each target %d times: until then failures of a new node do not count", cutNode, proven)
	if err := d.within(ctx, d.targetsProven); err != nil {
		return err
	}
	link := d.box.Node(d.of, cutNode)
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
		message, _, err := d.connectivity(ctx, status)
		if message == "" {
			return "", "the Network's status to notice " + what, err
		}
		return fmt.Sprintf("the status noticed %s after %.1f s: PodNetworkAvailable is %s, %s", what, time.Since(since).Seconds(), status, message), "", nil
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
	if err := d.shoot.List(ctx, nodes); err != nil {
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
	if ready < realNodes {
		return "", fmt.Sprintf("nodes: %d of %d Ready", ready, realNodes), nil
	}
	return fmt.Sprintf("%d nodes are Ready", ready), "", nil
}

func (d *demo) podsTalk(ctx context.Context) (string, string, error) {
	message, passing, err := d.connectivity(ctx, corev1beta1.ConditionTrue)
	if message == "" {
		return "", fmt.Sprintf("the probes to tell that pods talk; so far they reach: %s", cmp.Or(strings.Join(passing, ", "), "nothing")), err
	}
	return "pods talk: " + message, "", nil
}

// tests are the tests that the Network's status has once all are known.
var tests = []string{"pods", "nodes", "services", "dns"}

// connectivity returns the message of the condition PodNetworkAvailable if that has the status and,
// if the status is True, all tests are known to pass. Otherwise the message is "". It also returns
// the tests that pass.
func (d *demo) connectivity(ctx context.Context, wanted corev1beta1.ConditionStatus) (message string, passing []string, err error) {
	n, err := d.network(ctx)
	if err != nil || n.Status.ProviderStatus == nil {
		return "", nil, err
	}
	var status struct {
		Tests map[string]any `json:"connectivityTests"`
	}
	if err := json.Unmarshal(n.Status.ProviderStatus.Raw, &status); err != nil {
		return "", nil, err
	}
	for _, test := range tests {
		if status.Tests[test] == true {
			passing = append(passing, test)
		}
	}
	if wanted == corev1beta1.ConditionTrue && len(passing) < len(tests) {
		return "", passing, nil
	}
	return messageOf(n, wanted), passing, nil
}

func messageOf(n *extensionsv1alpha1.Network, status corev1beta1.ConditionStatus) string {
	for _, condition := range n.Status.Conditions {
		if condition.Type == "PodNetworkAvailable" && condition.Status == status {
			return condition.Message
		}
	}
	return ""
}

// targetsProven awaits reports by which the probes have reached all their targets often enough.
func (d *demo) targetsProven(ctx context.Context) (string, string, error) {
	reports := &connectivityv1alpha1.NodeConnectivityList{}
	if err := d.shoot.List(ctx, reports); err != nil {
		return "", "", err
	}
	targets := 0
	for _, report := range reports.Items {
		for _, check := range report.Report.Checks {
			for _, result := range check.Results {
				if result.Attempts-result.Failures < proven {
					return "", fmt.Sprintf("%s to report that it has reached %s %d times", report.Name, result.Name, proven), nil
				}
				targets++
			}
		}
	}
	return fmt.Sprintf("each of %d targets was reached %d times", targets, proven), "", nil
}

// showConnectivity runs the commands that show how the Network is.
func (d *demo) showConnectivity(ctx context.Context) error {
	namespace, err := d.controlPlane(ctx)
	if err != nil {
		return err
	}
	for _, command := range []string{"status", "connectivity"} {
		if err := d.run(ctx, command, d.name.Name, "-n", namespace); err != nil {
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
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.box.Seed.Kubeconfig)
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
