// SPDX-License-Identifier: Apache-2.0

package connectivity_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clockSkew is how far the nodes' clocks are behind.
const clockSkew = time.Hour

// simulated are the reports of n nodes of both families, each with five peers. Every 50th node
// is not reached from any other, and the second node's last report is old.
func simulated(n int) (reports []connectivityv1alpha1.NodeConnectivity) {
	name := func(i int) string { return fmt.Sprintf("node-%04d", i%n) }
	isCut := func(i int) bool { return i%n%50 == 2 }
	for i := range n {
		at := metav1.NewTime(now.Add(-30 * time.Second))
		if i == 1 {
			at = metav1.NewTime(now.Add(-10 * time.Minute))
		}
		one := connectivityv1alpha1.NodeConnectivity{}
		one.Name = name(i)
		one.CreationTimestamp = metav1.NewTime(now.Add(-24 * time.Hour))
		one.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &at}}
		one.Report = connectivityv1alpha1.Report{
			Time: metav1.NewTime(at.Add(-clockSkew)), ProbeVersion: "v1",
			PodInterface: &connectivityv1alpha1.PodInterface{Name: "eth0", MTU: 1450, ProxyARP: new(false)},
		}
		for f, family := range []connectivityv1alpha1.IPFamily{connectivityv1alpha1.IPv4, connectivityv1alpha1.IPv6} {
			var pods, nodes []connectivityv1alpha1.Result
			for k := 1; k <= min(5, n-1); k++ {
				j := i + k*k
				if n <= 6 {
					j = i + k
				}
				result := connectivityv1alpha1.Result{
					Name: name(j), Address: fmt.Sprintf("10.96.%d.%d:8080", j%n/256, j%n%256), Attempts: 30,
					LatencyMicroseconds: int32(200 + 37*((i*7+k*13+f*5)%40)), FullSizePackets: new(true),
				}
				if isCut(j) && f == 0 {
					since := metav1.NewTime(now.Add(-clockSkew - 7*time.Minute))
					result.Failures, result.ConsecutiveFailures, result.FailingSince = 30, 42, &since
					result.Error = "connect: no route to host"
				}
				if (i+k)%97 == 1 {
					result.Failures = 3
				}
				pods = append(pods, result)
				result.FullSizePackets = nil
				nodes = append(nodes, result)
			}
			service := []connectivityv1alpha1.Result{{Name: "trellis-probe", Address: "10.112.0.7:80", Attempts: 30, LatencyMicroseconds: 410}}
			dns := []connectivityv1alpha1.Result{{Name: "trellis-probe.kube-system.svc.cluster.local.", Address: "10.112.0.10:53", Attempts: 30, LatencyMicroseconds: 380}}
			for _, each := range []struct {
				of      connectivityv1alpha1.CheckType
				results []connectivityv1alpha1.Result
			}{{connectivityv1alpha1.CheckPods, pods}, {connectivityv1alpha1.CheckNodes, nodes}, {connectivityv1alpha1.CheckServices, service}, {connectivityv1alpha1.CheckDNS, dns}} {
				one.Report.Checks = append(one.Report.Checks, connectivityv1alpha1.Check{Family: family, Type: each.of, Targets: int32(len(each.results)), Results: each.results})
			}
		}
		reports = append(reports, one)
	}
	return reports
}
