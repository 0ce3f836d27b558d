// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trellis-network/trellis/internal/keyed"
)

// gauge is a metric about the objects that are there, a Network or a shoot each: the
// values of objects with the same labels are merged when the metric is read. An object
// that is deleted takes its values with it.
type gauge struct {
	desc    *prometheus.Desc
	merge   func(a, b float64) float64
	objects keyed.Map[string, []sample]
}

// sample is the value of one object, with the values of the labels.
type sample struct {
	labels []string
	value  float64
}

var _ prometheus.Collector = &gauge{}

func newGauge(name, help string, merge func(a, b float64) float64, labels ...string) *gauge {
	return &gauge{desc: prometheus.NewDesc(name, help, labels, nil), merge: merge}
}

func sum(a, b float64) float64     { return a + b }
func largest(a, b float64) float64 { return max(a, b) }

// set replaces the values of an object.
func (g *gauge) set(object string, samples ...sample) { g.objects.Set(object, samples) }

// forget removes the values of an object.
func (g *gauge) forget(object string) { g.objects.Delete(object) }

// Describe implements prometheus.Collector.
func (g *gauge) Describe(descs chan<- *prometheus.Desc) { descs <- g.desc }

// Collect implements prometheus.Collector.
func (g *gauge) Collect(collected chan<- prometheus.Metric) {
	merged := map[string]sample{}
	for _, samples := range g.objects.Clone() {
		for _, s := range samples {
			key := strings.Join(s.labels, "\x00")
			if before, ok := merged[key]; ok {
				s.value = g.merge(before.value, s.value)
			}
			merged[key] = s
		}
	}
	for _, s := range merged {
		collected <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, s.value, s.labels...)
	}
}
