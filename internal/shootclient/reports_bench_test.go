// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// aReport is what the probe of a node reports of a cluster of 100 nodes, where all is well.
func aReport(node string) *connectivityv1alpha1.NodeConnectivity {
	now := metav1.NewTime(time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC))
	report := &connectivityv1alpha1.NodeConnectivity{
		TypeMeta:   metav1.TypeMeta{APIVersion: connectivityv1alpha1.GroupVersion.String(), Kind: Reports.Kind.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: node, UID: "0d7fbd5d-0000-0000-0000-000000000000"},
	}
	report.Report.Time = now
	for _, check := range []connectivityv1alpha1.CheckType{"PodToPod", "NodeToPod", "PodToService", "PodToAPIServer", "DNS"} {
		made := connectivityv1alpha1.Check{Family: "IPv4", Type: check}
		for peer := range 6 {
			made.Results = append(made.Results, connectivityv1alpha1.Result{
				Name: fmt.Sprintf("shoot--project--name-worker-z1-5b6c9d7f8-%05d", peer), Address: fmt.Sprintf("10.1.%d.7:9464", peer),
				Attempts: 60, LastSuccess: &now,
			})
		}
		report.Report.Checks = append(report.Report.Checks, made)
	}
	return report
}

// How much of the processor a report takes from the watch to the cache, without news. The test's
// API server, which sends it, takes its part of that. With more than 1,500 reports, the limit of what a
// shoot may send a second is what is measured.
func BenchmarkReport(b *testing.B) {
	group := connectivityv1alpha1.GroupVersion.Group
	sent := make(chan int)
	event := func(kind string, object any) []byte {
		raw, err := json.Marshal(map[string]any{"type": kind, "object": object})
		if err != nil {
			b.Fatal(err)
		}
		return raw
	}
	report := aReport("a-node")
	report.ResourceVersion = "a-version"
	template := string(event("MODIFIED", report))
	h := newHostile(b, hostileAnswers{
		"/apis": answerWith(http.StatusOK, fmt.Sprintf(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":%q,"versions":[{"groupVersion":%q,"version":"v1alpha1"}],"preferredVersion":{"groupVersion":%q,"version":"v1alpha1"}}]}`,
			group, connectivityv1alpha1.GroupVersion, connectivityv1alpha1.GroupVersion)),
		"/apis/" + connectivityv1alpha1.GroupVersion.String(): answerWith(http.StatusOK, resources(connectivityv1alpha1.GroupVersion.String(), "nodeconnectivities", Reports.Kind.Kind)),
		"/apis/" + connectivityv1alpha1.GroupVersion.String() + "/nodeconnectivities": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			listed := aReport("none")
			listed.ResourceVersion = "1"
			listed.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
			_, _ = w.Write(event("BOOKMARK", listed))
			http.NewResponseController(w).Flush()
			for number := 2; ; number++ {
				select {
				case <-r.Context().Done():
					return
				case node := <-sent:
					raw := strings.NewReplacer("a-node", fmt.Sprintf("node-%03d", node%100), "a-version", fmt.Sprint(number)).Replace(template)
					_, _ = io.WriteString(w, raw)
					http.NewResponseController(w).Flush()
				}
			}
		},
	})
	h.clients.Declare(Reports)
	shoot := h.shoot()
	h.Expect(shoot.Watch(h.ctx, Reports.Kind)).To(Succeed())
	before, number := processorTime(), 0
	for b.Loop() {
		sent <- number
		number++
	}
	list := &connectivityv1alpha1.NodeConnectivityList{}
	for last := ""; last != fmt.Sprint(number+1); runtime.Gosched() {
		h.Expect(shoot.Reader.List(h.ctx, list, client.UnsafeDisableDeepCopy)).To(Succeed())
		for i := range list.Items {
			if version := list.Items[i].ResourceVersion; len(version) > len(last) || len(version) == len(last) && version > last {
				last = version
			}
		}
	}
	b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(number), "µs-CPU/op")
	b.ReportMetric(float64(len(template)), "B-event")
}

// processorTime returns how much of the processor this process has taken.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
