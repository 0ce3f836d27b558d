// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trellis-network/trellis/internal/outcome"
)

// ours are the metric families of Trellis. The registry refuses what is inconsistent.
func ours(g *WithT) []*dto.MetricFamily {
	strict := prometheus.NewPedanticRegistry()
	for _, metric := range All() {
		strict.MustRegister(metric)
	}
	families, err := strict.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	return families
}

func TestEveryMetricIsServed(t *testing.T) {
	g := NewWithT(t)
	var registered prometheus.AlreadyRegisteredError
	for _, metric := range All() {
		g.Expect(errors.As(ctrlmetrics.Registry.Register(metric.Collector), &registered)).To(BeTrue(), metric.Name)
	}
}

func TestNamesFollowPrometheusConventions(t *testing.T) {
	g := NewWithT(t)
	var families []*dto.MetricFamily
	for _, metric := range All() {
		kind := dto.MetricType(dto.MetricType_value[strings.ToUpper(metric.Kind)])
		labelled := &dto.Metric{}
		for _, label := range metric.Labels {
			labelled.Label = append(labelled.Label, &dto.LabelPair{Name: &label})
		}
		families = append(families, &dto.MetricFamily{Name: &metric.Name, Help: &metric.Help, Type: &kind, Metric: []*dto.Metric{labelled}})
		g.Expect(metric.Name).To(HavePrefix("trellis_"))
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
}

func TestARolloutIsMeasured(t *testing.T) {
	g := NewWithT(t)
	values := func() map[string]float64 {
		found := map[string]float64{}
		for _, family := range ours(g) {
			for _, m := range family.Metric {
				if strings.HasPrefix(family.GetName(), "trellis_rollout_") {
					found[family.GetName()+fmt.Sprint(m.Label)] = m.GetGauge().GetValue()
				}
			}
		}
		return found
	}
	defer rolloutHalted.objects.Delete("")
	one, two := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	RolloutPhase(one, "Pending")
	RolloutPhase(two, "Pending")
	RolloutHalted(true)
	g.Expect(slices.Sorted(maps.Values(values()))).To(Equal([]float64{1, 2}))
	RolloutPhase(one, "")
	ForgetNetwork(two)
	RolloutHalted(false)
	g.Expect(slices.Sorted(maps.Values(values()))).To(Equal([]float64{0}))
}

func TestValuesOfObjectsThatAreGoneGo(t *testing.T) {
	g := NewWithT(t)
	ServeTypes("example")
	defer rolloutHalted.objects.Delete("")
	one, two := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	Bundles(one, "example", Bundle{"main", 10, 1000}, Bundle{"later", 1, 100})
	Bundles(two, "example", Bundle{"main", 5, 3000})
	Rollout(one, "example", true)
	Rollout(two, "example", false)
	Shoot("one", ShootReachable)
	Shoot("two", ShootUnreachable)

	read := func(g *WithT) string {
		var lines []string
		for _, family := range ours(g) {
			if family.GetType() != dto.MetricType_GAUGE {
				continue
			}
			for _, m := range family.Metric {
				var labels []string
				for _, pair := range m.Label {
					labels = append(labels, pair.GetValue())
				}
				lines = append(lines, fmt.Sprintf("%s{%s} %g", strings.TrimPrefix(family.GetName(), "trellis_"), strings.Join(labels, ","), m.GetGauge().GetValue()))
			}
		}
		return strings.Join(lines, "\n")
	}
	g.Expect(read(g)).To(Equal(`bundle_max_size_bytes{later,example} 100
bundle_max_size_bytes{main,example} 3000
bundle_objects{later,example} 1
bundle_objects{main,example} 15
bundle_size_bytes{later,example} 100
bundle_size_bytes{main,example} 4000
bundles{later,example} 1
bundles{main,example} 2
rollouts_stalled{example} 1
shoots{reachable} 1
shoots{refused} 0
shoots{unreachable} 1`))

	Bundles(one, "example", Bundle{"main", 10, 1000})
	Shoot("two", ShootRefused)
	ForgetNetwork(two)
	ForgetShoot("one")
	g.Expect(read(g)).To(Equal(`bundle_max_size_bytes{main,example} 1000
bundle_objects{main,example} 10
bundle_size_bytes{main,example} 1000
bundles{main,example} 1
rollouts_stalled{example} 1
shoots{reachable} 0
shoots{refused} 1
shoots{unreachable} 0`))
	ForgetNetwork(one)
	ForgetShoot("two")
	g.Expect(read(g)).To(BeEmpty())
}

func TestLabelsHaveFewValues(t *testing.T) {
	g := NewWithT(t)
	ServeTypes("example")
	for _, networkType := range []string{"example", "a user's", "another user's", ""} {
		Reconciled("labels", networkType, outcome.TryAgain(errors.New("broken")), time.Second)
	}
	for _, status := range []int{200, 201, 409, 422, 503, 0} {
		ShootWrite("labels", status)
	}
	counts := map[string]float64{}
	for _, family := range ours(g) {
		for _, m := range family.Metric {
			labels := map[string]string{}
			for _, pair := range m.Label {
				labels[pair.GetName()] = pair.GetValue()
			}
			switch {
			case labels["controller"] == "labels":
				counts[labels["type"]+" "+labels["outcome"]] = float64(m.GetHistogram().GetSampleCount())
			case labels["verb"] == "labels":
				counts[labels["code"]] = m.GetCounter().GetValue()
			}
		}
	}
	g.Expect(counts).To(Equal(map[string]float64{
		"example retry": 1, "other retry": 2, " retry": 1,
		"2xx": 2, "4xx": 2, "5xx": 1, "none": 1,
	}))
}
