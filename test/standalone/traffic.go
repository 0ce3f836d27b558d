// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/test/harness"
)

// Every is the time between two datagrams of a Load.
const Every = 5 * time.Millisecond

// Pod creates a pod on a node that runs the program sandbox/cmd/traffic with these arguments, and
// waits until it runs.
func (s *Shoot) Pod(ctx context.Context, name, node string, args ...string) (*corev1.Pod, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Namespace: metav1.NamespaceDefault}, Spec: corev1.PodSpec{
		NodeName: node, RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "traffic", Image: "sandbox.invalid/traffic:v1", Args: args}},
	}}
	if err := s.Cluster.Create(ctx, pod); err != nil {
		return nil, err
	}
	return pod, s.becomes(ctx, pod, corev1.PodRunning)
}

func (s *Shoot) becomes(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase) error {
	const poll = 250 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, poll, harness.Patience, true, func(ctx context.Context) (bool, error) {
		err := s.Cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return pod.Status.Phase == phase, err
	})
	if err != nil {
		return fmt.Errorf("wait until the pod %s is %s: %w; it is %+v", pod.Name, phase, err, pod.Status)
	}
	return nil
}

// Load is traffic between nodes: datagrams and HTTP requests from a pod on each to a pod on each
// other one, in each IP family.
type Load struct {
	shoot   *Shoot
	senders []sender
}

// sender is a pod that sends to a node.
type sender struct {
	*corev1.Pod
	to string
}

// Report is what became of the traffic in one direction and IP family, as sandbox/cmd/traffic
// prints it.
type Report struct {
	// Node is where the sender ran, and To the node to which it sent.
	Node, To string `json:"-"`
	UDP      Count
	// HTTP are requests on fresh connections, and Kept those on one that stays open.
	HTTP Count
	Kept struct {
		Count
		// Connections is one, and one more each time that it broke, or that the sender got so little of
		// the processors that Go's client did not use it again.
		Connections int
	}
	Errors []string
}

// Count is how much was sent and how much of it was not answered.
type Count struct {
	Sent, Lost          int
	SlowestMilliseconds float64
}

// String is what was lost of how much.
func (r Report) String() string {
	return fmt.Sprintf("from %s to %s: of %d datagrams, one each %s, %d were lost; of %d HTTP requests %d failed, the slowest took %.0f ms; of %d on %d connections that stay open %d failed",
		r.Node, r.To, r.UDP.Sent, Every, r.UDP.Lost, r.HTTP.Sent, r.HTTP.Lost, r.HTTP.SlowestMilliseconds, r.Kept.Sent, r.Kept.Connections, r.Kept.Lost)
}

// Servers starts a pod on each of these nodes that answers a Load.
func (s *Shoot) Servers(ctx context.Context, nodes ...string) (servers []*corev1.Pod, err error) {
	for _, node := range nodes {
		server, err := s.Pod(ctx, "serve", node, "serve")
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// Send starts a Load between the nodes of all Servers. It lasts until End, for 15 minutes at most.
func (s *Shoot) Send(ctx context.Context, servers []*corev1.Pod) (*Load, error) {
	load := &Load{shoot: s}
	for _, from := range servers {
		for _, server := range servers {
			if server == from {
				continue
			}
			for _, to := range server.Status.PodIPs {
				pod, err := s.Pod(ctx, "send", from.Spec.NodeName, "send", "-every="+Every.String(), "-http-every=50ms",
					"-timeout=5s", "-for=15m", "-to", net.JoinHostPort(to.IP, "8080"))
				if err != nil {
					return nil, err
				}
				load.senders = append(load.senders, sender{pod, server.Spec.NodeName})
			}
		}
	}
	return load, nil
}

// End ends the Load, and returns what became of it.
func (l *Load) End(ctx context.Context) ([]Report, error) {
	for _, sender := range l.senders {
		if _, err := l.shoot.Kubectl(ctx, "", "exec", sender.Name, "--", "sh", "-c", "kill -TERM 1"); err != nil {
			return nil, err
		}
	}
	var reports []Report
	for _, sender := range l.senders {
		if err := l.shoot.becomes(ctx, sender.Pod, corev1.PodSucceeded); err != nil {
			return nil, err
		}
		printed, err := l.shoot.Kubectl(ctx, "", "logs", sender.Name)
		if err != nil {
			return nil, err
		}
		report := Report{Node: sender.Spec.NodeName, To: sender.to}
		if err := json.Unmarshal([]byte(printed), &report); err != nil {
			return nil, fmt.Errorf("%w: %s", err, printed)
		}
		reports = append(reports, report)
	}
	return reports, nil
}
