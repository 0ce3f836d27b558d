// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// What a verdict about many nodes costs: the time of one, what all reports take as they are
// cached, and what is remembered between verdicts. All grow linearly.
func BenchmarkExamine(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("%d nodes", nodes), func(b *testing.B) {
			before := heap()
			evidence := benchmarkEvidence(nodes)
			reports := heap()
			_, memory := Examine(evidence, Memory{}, noon)
			remembered := heap()
			b.ReportAllocs()
			for b.Loop() {
				_, memory = Examine(evidence, memory, noon.Add(time.Second))
			}
			b.ReportMetric((reports-before)/1000, "kB-reports")
			b.ReportMetric((remembered-reports)/1000, "kB-memory")
			runtime.KeepAlive(memory)
		})
	}
}

func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// benchmarkEvidence are the reports of as many nodes as they are cached, each about six peers.
func benchmarkEvidence(nodes int) Evidence {
	var evidence Evidence
	name := func(i int) string { return fmt.Sprintf("shoot--project--name-worker-z1-5b6c9d7f8-%05d", i%nodes) }
	for i := range nodes {
		report := connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: name(i), ResourceVersion: fmt.Sprint(i)}}
		report.Report.Time = metav1.NewTime(noon)
		for _, check := range checks {
			made := connectivityv1alpha1.Check{Family: "IPv4", Type: check}
			for peer := range 6 {
				if (test{check: check}).ofNodes() {
					made.Results = append(made.Results, connectivityv1alpha1.Result{Name: name(i + 7*peer + 1)})
				} else if peer == 0 {
					made.Results = append(made.Results, connectivityv1alpha1.Result{Name: fmt.Sprintf("trellis-probe.kube-system.svc-%s", check)})
				}
			}
			report.Report.Checks = append(report.Report.Checks, made)
		}
		evidence.Reports = append(evidence.Reports, report)
	}
	names := make([]string, nodes)
	for i := range names {
		names[i] = name(i)
	}
	evidence.Nodes = oldNodes(names...)
	return evidence
}
