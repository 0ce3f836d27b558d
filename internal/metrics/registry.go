// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trellis-network/trellis/internal/keyed"
)

// Metric is a metric of Trellis.
type Metric struct {
	prometheus.Collector
	Name, Kind, Help string
	Labels           []string
}

var all []Metric

// All returns all metrics, by their names.
func All() []Metric {
	return slices.SortedFunc(slices.Values(all), func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
}

// define registers a metric in the registry that the operator serves.
func define[C prometheus.Collector](collector C, kind, name, help string, labels []string) C {
	all = append(all, Metric{collector, name, kind, help, labels})
	ctrlmetrics.Registry.MustRegister(collector)
	return collector
}

func newHistogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	options := prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
	return define(prometheus.NewHistogramVec(options, labels), "histogram", name, help, labels)
}

func newCounter(name, help string, labels ...string) *prometheus.CounterVec {
	options := prometheus.CounterOpts{Name: name, Help: help}
	return define(prometheus.NewCounterVec(options, labels), "counter", name, help, labels)
}

func newGauge(name, help string, merge func(a, b float64) float64, labels ...string) *gauge {
	return define(&gauge{desc: prometheus.NewDesc(name, help, labels, nil), merge: merge}, "gauge", name, help, labels)
}

func sum(a, b float64) float64     { return a + b }
func largest(a, b float64) float64 { return max(a, b) }

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

// set replaces the values of an object.
func (g *gauge) set(object string, samples ...sample) { g.objects.Set(object, samples) }

// forget removes the values that any gauge has of an object.
func forget(object string) {
	for _, metric := range all {
		if g, ok := metric.Collector.(*gauge); ok {
			g.objects.Delete(object)
		}
	}
}

func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}

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
