// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/annotations"
)

// situation are series of an operator, as the unit tests of Prometheus' rules state them: one value a minute.
type situation struct {
	series string
	// after is when the alert fires first, in minutes; never where there is no summary.
	after   int
	summary string
}

// Prometheus' own engine finds each alert to fire when it should, to say what is true, and to be
// silent otherwise.
func TestEachAlertFiresWhenItShould(t *testing.T) {
	situations := map[string]map[string]situation{
		"TrellisHasNoLeader": {
			"the leader ends, and none follows": {`leader_election_master_status{name="trellis-operator", pod="a"} 1x19 0x100
				leader_election_master_status{name="trellis-operator", pod="b"} 0x120`, 30, "No replica of trellis-operator reconciles networks."},
			"no replica answers Prometheus": {`leader_election_master_status{name="trellis-operator", pod="a"} 1x19`, 34, "No replica of trellis-operator reconciles networks."},
			"another one follows": {`leader_election_master_status{name="trellis-operator", pod="a"} 1x19 0x100
				leader_election_master_status{name="trellis-operator", pod="b"} 0x24 1x95`, 0, ""},
		},
		"TrellisPanics": {
			"the first panic":     {`controller_runtime_reconcile_panics_total{controller="network"} 0x29 1x90`, 30, "Reconciliations of the controller network panic."},
			"one of a day before": {`controller_runtime_reconcile_panics_total{controller="network"} 1x120`, 0, ""},
		},
		"TrellisReconciliationsFail": {
			// The slowest retries: one a minute.
			"one Network is retried": {`trellis_reconciliation_duration_seconds_count{controller="network", type="calico", outcome="retry"} 0x9 1+1x100`, 40,
				"The controller network repeats failed reconciliations for half an hour."},
			"errors that pass":             {`trellis_reconciliation_duration_seconds_count{controller="network", type="calico", outcome="retry"} 0x9 1+1x15 16x90`, 0, ""},
			"shoots that do not answer":    {`trellis_reconciliation_duration_seconds_count{controller="managedresource", type="calico", outcome="retry"} 0+1x120`, 0, ""},
			"success, and users' mistakes": {`trellis_reconciliation_duration_seconds_count{controller="network", type="calico", outcome="terminal"} 0+1x120`, 0, ""},
		},
		"TrellisQueueGrows": {
			"more than there are workers for": {`workqueue_depth{controller="network", name="network", priority="0"} 0x9 150x100`, 25, "More than 100 objects wait for the controller network: 150."},
			"a start of the operator":         {`workqueue_depth{controller="network", name="network", priority="0"} 300x10 0x100`, 0, ""},
		},
		"TrellisAppliesSlowly": {
			"half of the changes take half an hour": {`trellis_network_apply_duration_seconds_bucket{type="calico", le="600"} 0+1x120
				trellis_network_apply_duration_seconds_bucket{type="calico", le="1800"} 0+2x120
				trellis_network_apply_duration_seconds_bucket{type="calico", le="+Inf"} 0+2x120`, 31, "One of ten changes of networks takes more than ten minutes until it is applied."},
			"all take seconds": {`trellis_network_apply_duration_seconds_bucket{type="calico", le="10"} 0+2x120
				trellis_network_apply_duration_seconds_bucket{type="calico", le="600"} 0+2x120
				trellis_network_apply_duration_seconds_bucket{type="calico", le="+Inf"} 0+2x120`, 0, ""},
		},
		"TrellisRolloutsStall": {
			"two":              {`trellis_rollouts_stalled{type="calico"} 0x9 2x100`, 25, "Roll-outs make no progress in 2 networks of the type calico."},
			"one that goes on": {`trellis_rollouts_stalled{type="calico"} 0x9 1x10 0x100`, 0, ""},
		},
		"TrellisUpdatesAreHalted": {
			"halted":  {`trellis_rollout_halted{pod="a"} 0x9 1x100`, 15, "The roll-out of a version of trellis-operator, or of changed settings, is halted."},
			"goes on": {`trellis_rollout_halted{pod="a"} 0x120`, 0, ""},
		},
		"TrellisCannotReachManyShoots": {
			"5 of 20": {`trellis_shoots{state="unreachable"} 0x9 5x100
				trellis_shoots{state="reachable"} 20x9 15x100`, 25, "25% of the shoots do not answer trellis-operator."},
			"1 of 4": {`trellis_shoots{state="unreachable"} 1x120
				trellis_shoots{state="reachable"} 3x120`, 0, ""},
			"10 of 300": {`trellis_shoots{state="unreachable"} 10x120
				trellis_shoots{state="reachable"} 290x120`, 0, ""},
		},
		"TrellisIsRefusedByShoots": {
			"one":                       {`trellis_shoots{state="refused"} 0x9 1x100`, 40, "1 shoots refuse the credentials of trellis-operator."},
			"while gardenlet renews it": {`trellis_shoots{state="refused"} 0x9 1x5 0x100`, 0, ""},
		},
		"TrellisPodNetworksFail": {
			"one":              {`trellis_connectivity_networks{type="cilium", status="false"} 0x9 1x100`, 20, "Pods do not reach what they need in 1 networks of the type cilium."},
			"one for a moment": {`trellis_connectivity_networks{type="cilium", status="false"} 0x9 1x5 0x100`, 0, ""},
		},
		"TrellisManyPodNetworksFail": {
			"6 of 40, of two types": {`trellis_connectivity_networks{type="cilium", status="false"} 0x9 3x100
				trellis_connectivity_networks{type="calico", status="false"} 0x9 3x100
				trellis_connectivity_networks{type="calico", status="true"} 34x120`, 15, "Pods do not reach what they need in 15% of the networks."},
			"2 of 4": {`trellis_connectivity_networks{type="cilium", status="false"} 2x120
				trellis_connectivity_networks{type="cilium", status="true"} 2x120`, 0, ""},
		},
		"TrellisPodNetworksAreUnknown": {
			"3 of 4": {`trellis_connectivity_networks{type="cilium", status="unknown"} 0x9 3x110
				trellis_connectivity_networks{type="cilium", status="true"} 4x9 1x110`, 70, "Probes report nothing in 75% of the networks."},
			"half": {`trellis_connectivity_networks{type="cilium", status="unknown"} 5x120
				trellis_connectivity_networks{type="cilium", status="true"} 5x120`, 0, ""},
		},
		"TrellisAdmissionIsDown": {
			"both replicas": {`up{pod="a"} 1x9 0x100
				up{pod="b"} 1x9 0x100`, 15, "No replica of trellis-admission answers."},
			"there is no pod": {`up{pod="a"} 1x9`, 19, "No replica of trellis-admission answers."},
			"one of two": {`up{pod="a"} 0x120
				up{pod="b"} 1x120`, 0, ""},
		},
		"TrellisAdmissionIsSlow": {
			"two seconds": {`controller_runtime_webhook_latency_seconds_sum{webhook="/shoots"} 0+20x120
				controller_runtime_webhook_latency_seconds_count{webhook="/shoots"} 0+10x120`, 11, "trellis-admission takes 2s on average for an answer at /shoots."},
			"milliseconds": {`controller_runtime_webhook_latency_seconds_sum{webhook="/shoots"} 0+0.02x120
				controller_runtime_webhook_latency_seconds_count{webhook="/shoots"} 0+10x120`, 0, ""},
		},
		"TrellisAdmissionPanics": {
			"once":         {`controller_runtime_webhook_panics_total 0x29 1x90`, 30, "trellis-admission panics."},
			"a day before": {`controller_runtime_webhook_panics_total 1x120`, 0, ""},
		},
		"TrellisBundleIsLarge": {
			"900 KiB": {`trellis_bundle_max_size_bytes{bundle="extension-networking-cilium-config", type="cilium"} 921600x120`, 10, "A bundle extension-networking-cilium-config has 900kiB. Kubernetes refuses Secrets of more than 1 MiB."},
			"53 kB":   {`trellis_bundle_max_size_bytes{bundle="extension-networking-cilium-config", type="cilium"} 53000x120`, 0, ""},
		},
	}
	for _, alert := range slices.Concat(onASeed(t).alerts(), inAGarden(t).alerts()) {
		NewWithT(t).Expect(situations).To(HaveKey(alert.Alert))
		for name, one := range situations[alert.Alert] {
			t.Run(alert.Alert+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				after, texts := fires(t, alert, one.series)
				if one.summary == "" {
					g.Expect(texts).To(BeEmpty())
					return
				}
				g.Expect(after).To(Equal(one.after))
				g.Expect(texts).To(HaveLen(len(alert.Annotations)))
				g.Expect(texts["summary"]).To(Equal(one.summary))
				g.Expect(texts["description"]).NotTo(ContainSubstring("no value"))
			})
		}
	}
}

// fires evaluates an alert once a minute for two hours. It returns after how many minutes it fires first, and
// its texts then.
func fires(t *testing.T, alert monitoringv1.Rule, series string) (minute int, texts map[string]string) {
	t.Helper()
	g := NewWithT(t)
	data := readSeries(t, alert.Labels["service"], series)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{})})
	var lasts time.Duration
	if alert.For != nil {
		parsed, err := model.ParseDuration(string(*alert.For))
		g.Expect(err).NotTo(HaveOccurred())
		lasts = time.Duration(parsed)
	}
	since := map[string]time.Time{} // when an alert with these labels became active
	for minute := range 121 {
		now := time.Unix(0, 0).Add(time.Duration(minute) * time.Minute)
		query, err := engine.NewInstantQuery(t.Context(), data, nil, alert.Expr.String(), now)
		g.Expect(err).NotTo(HaveOccurred())
		samples, err := query.Exec(t.Context()).Vector()
		g.Expect(err).NotTo(HaveOccurred())
		active := map[string]time.Time{}
		for _, sample := range samples {
			key := sample.Metric.String()
			active[key] = now
			if before, was := since[key]; was {
				active[key] = before
			}
			if now.Sub(active[key]) >= lasts {
				return minute, textsOf(t, alert, sample)
			}
		}
		since = active
		query.Close()
	}
	return 0, nil
}

// textsOf returns the annotations of an alert that fires.
func textsOf(t *testing.T, alert monitoringv1.Rule, sample promql.Sample) map[string]string {
	t.Helper()
	texts := map[string]string{}
	values := template.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
	for name, text := range alert.Annotations {
		const variables = "{{$labels := .Labels}}{{$value := .Value}}"
		expanded, err := template.NewTemplateExpander(t.Context(), variables+text, name, values, 0, nil, nil, nil).Expand()
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		texts[name] = expanded
	}
	return texts
}

// seriesData are series that Prometheus' engine reads.
type seriesData []storage.Series

// readSeries reads series of a job, one a line.
func readSeries(t *testing.T, job, text string) (data seriesData) {
	t.Helper()
	g := NewWithT(t)
	for line := range strings.Lines(text) {
		metric, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(strings.TrimSpace(line))
		g.Expect(err).NotTo(HaveOccurred(), line)
		one := promql.Series{Metric: labels.NewBuilder(metric).Set("job", job).Labels()}
		for minute, value := range values {
			if !value.Omitted {
				one.Floats = append(one.Floats, promql.FPoint{T: int64(minute) * time.Minute.Milliseconds(), F: value.Value})
			}
		}
		data = append(data, promql.NewStorageSeries(one))
	}
	return data
}

func (d seriesData) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		return &seriesSet{rest: slices.DeleteFunc(slices.Clone(d), func(series storage.Series) bool {
			return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(series.Labels().Get(m.Name)) })
		})}
	}}, nil
}

// seriesSet walks through series.
type seriesSet struct {
	rest    []storage.Series
	present storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.present, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return s.present }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

var _ storage.Queryable = seriesData{}
