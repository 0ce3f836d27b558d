// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

var onRealNodes = flag.Bool("realnodes", false, "run on real nodes; make e2e-guides sets it")

// talking is a user's Shoot of type gardenet, on nodes that run containers and send packets, with an operator that
// has these plugins. Its pods talk. The router between several subnets has routes to the pods of all nodes.
func talking(t *testing.T, name string, real sandbox.RealNodes, plugins ...plugin.Plugin) *standalone.Shoot {
	t.Helper()
	if !*onRealNodes {
		t.Skip("make e2e-guides runs this: it needs root, and the programs of real nodes")
	}
	g := NewWithT(t)
	programs, err := sandbox.NodePrograms()
	g.Expect(err).NotTo(HaveOccurred())
	real.Programs = programs
	box := sandbox.ForTest(t, sandbox.Options{Shoots: []string{"garden-dev/" + name}, Users: []string{standalone.User}, Real: &real})
	landscape, err := standalone.Install(t.Context(), box)
	g.Expect(err).NotTo(HaveOccurred())
	stop, err := landscape.OperateWith(plugins, logr.Discard())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(stop()).To(Succeed()) })
	shoot, err := landscape.Shoot(0)
	g.Expect(err).NotTo(HaveOccurred())
	document, err := runtime.DefaultUnstructuredConverter.ToUnstructured(shootNamed(name))
	g.Expect(err).NotTo(HaveOccurred())
	if real.Subnets > 1 {
		g.Expect(shoot.MakeRoutes(t.Context())).To(Succeed())
	}
	document["apiVersion"], document["kind"] = corev1beta1.GroupVersion.String(), "Shoot"
	g.Expect(shoot.Apply(t.Context(), &unstructured.Unstructured{Object: document})).To(Succeed())
	g.Eventually(verdictOf(t, shoot)).WithTimeout(5 * time.Minute).WithPolling(time.Second).Should(Equal(standalone.AllWell))
	return shoot
}

// verdictOf returns what reads the status about connectivity.
func verdictOf(t *testing.T, shoot *standalone.Shoot) func() (string, error) {
	return func() (string, error) {
		health, err := shoot.Health(t.Context())
		return health.Verdict, err
	}
}

func TestPodsTalkOnRealNodes(t *testing.T) {
	shoot := talking(t, "hand-made", sandbox.RealNodes{Nodes: 2}, plugin.New(definition{}))
	g := NewWithT(t)
	t.Logf("pods reach pods, nodes, Services and DNS %.0f s after the Shoot was applied", time.Since(shoot.Applied).Seconds())

	// What is sent arrives, and a route that is deleted is back before long.
	servers, err := shoot.Servers(t.Context(), "node-1", "node-2")
	g.Expect(err).NotTo(HaveOccurred())
	load, err := shoot.Send(t.Context(), servers)
	g.Expect(err).NotTo(HaveOccurred())
	began := time.Now()
	g.Eventually(func() time.Duration { return time.Since(began) }).WithTimeout(time.Minute).Should(BeNumerically(">", 10*time.Second))
	reports, err := load.End(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reports).To(HaveLen(2))
	for _, report := range reports {
		t.Log(report)
		g.Expect(report.UDP.Sent).To(BeNumerically(">", 1000))
		g.Expect(report.UDP.Lost).To(BeZero())
		g.Expect(report.HTTP.Lost).To(BeZero())
		g.Expect(report.Kept.Lost).To(BeZero())
	}
	node := shoot.Node("node-1")
	routes := func() (string, error) {
		output, err := node.Exec(t.Context(), "ip", "route", "show", "proto", "98")
		return string(output), err
	}
	before, err := routes()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(before).To(ContainSubstring(" via "))
	_, err = node.Exec(t.Context(), "ip", "route", "flush", "proto", "98")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(routes).WithTimeout(time.Minute).WithPolling(time.Second).Should(Equal(before))
}
