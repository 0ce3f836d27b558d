// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/test/built"
)

// monitoring are the alerts and the dashboard of a release.
type monitoring struct {
	rule      *monitoringv1.PrometheusRule
	configMap *corev1.ConfigMap
	dashboard *built.Dashboard
}

func (r release) monitoring(t *testing.T) monitoring {
	t.Helper()
	objects := r.render(t)
	made := monitoring{rule: find[monitoringv1.PrometheusRule](t, objects, "PrometheusRule"), dashboard: &built.Dashboard{}}
	for _, object := range objects {
		if object.GetKind() == "ConfigMap" && strings.HasSuffix(object.GetName(), "-dashboard") {
			made.configMap = find[corev1.ConfigMap](t, objects, "ConfigMap", object.GetName())
		}
	}
	NewWithT(t).Expect(made.configMap).NotTo(BeNil())
	NewWithT(t).Expect(made.configMap.Data).To(HaveLen(1))
	for _, content := range made.configMap.Data {
		NewWithT(t).Expect(json.Unmarshal([]byte(content), made.dashboard)).To(Succeed())
	}
	return made
}

func onASeed(t *testing.T) monitoring {
	release := releases["the operator on a seed"]
	release.namespace = "extension-trellis"
	return release.monitoring(t)
}

func inAGarden(t *testing.T) monitoring {
	release := releases["the admission by Gardener's operator"]
	release.namespace = "garden"
	return release.monitoring(t)
}

// inALandscape are those of the jobs that Gardener's Prometheus instances scrape.
func inALandscape(t *testing.T) map[string]monitoring {
	return map[string]monitoring{"trellis-operator": onASeed(t), "trellis-admission": inAGarden(t)}
}

func (m monitoring) alerts() (all []monitoringv1.Rule) {
	for _, group := range m.rule.Spec.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// expressions are those of all alerts and panels, by their names.
func (m monitoring) expressions() map[string]string {
	all := map[string]string{}
	for _, alert := range m.alerts() {
		all["alert "+alert.Alert] = alert.Expr.String()
	}
	for _, panel := range m.dashboard.Panels {
		for _, target := range panel.Targets {
			all["panel "+panel.Title+": "+target.Expr] = target.Expr
		}
	}
	return all
}

// selectors returns those of series in an expression.
func selectors(expression parser.Expr) (all []*parser.VectorSelector) {
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			all = append(all, selector)
		}
		return nil
	})
	return all
}

// documented is what a page says of series: the labels of each metric, and the values of labels.
type documented struct {
	labels map[string][]string
	values map[string][]string
}

func readMetrics(t *testing.T, page string) documented {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	quoted := func(cell string) (all []string) {
		for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			all = append(all, match[1])
		}
		return all
	}
	read := documented{map[string][]string{}, map[string][]string{}}
	for line := range strings.Lines(string(content)) {
		switch cells := strings.Split(line, "|"); {
		case len(cells) == 6 && slices.Contains([]string{"counter", "gauge", "histogram"}, strings.TrimSpace(cells[2])):
			name := quoted(cells[1])[0]
			read.labels[name] = quoted(cells[3])
			if strings.TrimSpace(cells[2]) == "histogram" {
				read.labels[name+"_count"], read.labels[name+"_sum"] = read.labels[name], read.labels[name]
				read.labels[name+"_bucket"] = append(slices.Clone(read.labels[name]), "le")
				delete(read.labels, name)
			}
		case len(cells) == 4 && len(quoted(cells[1])) == 1:
			read.values[quoted(cells[1])[0]] = quoted(cells[2])
		}
	}
	return read
}

// An alert on a series that there is not never fires.
func TestAlertsAndTheDashboardReadDocumentedSeries(t *testing.T) {
	for job, page := range map[string]string{"trellis-operator": "metrics.md", "trellis-admission": "admission.md"} {
		readDocumentedSeries(t, job, inALandscape(t)[job], readMetrics(t, page))
	}
}

func readDocumentedSeries(t *testing.T, job string, m monitoring, known documented) {
	for name, expression := range m.expressions() {
		t.Run(job+" "+name, func(t *testing.T) {
			g := NewWithT(t)
			parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(selectors(parsed)).NotTo(BeEmpty())
			for _, selector := range selectors(parsed) {
				g.Expect(known.labels).To(HaveKey(selector.Name))
				g.Expect(selector.LabelMatchers).To(ContainElement(HaveField("String()", `job="`+job+`"`)), "other extensions serve some metrics of the same names")
				for _, matcher := range selector.LabelMatchers {
					if matcher.Name == model.MetricNameLabel || matcher.Name == "job" {
						continue
					}
					g.Expect(known.labels[selector.Name]).To(ContainElement(matcher.Name), selector.Name)
					for _, value := range strings.Split(matcher.Value, "|") {
						g.Expect(matcher.Name+"="+value).To(BeElementOf(append(prefixed(matcher.Name, known.values[matcher.Name]), "name=trellis-operator")), selector.Name)
					}
				}
			}
			parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
				if sum, is := node.(*parser.AggregateExpr); is {
					for _, label := range sum.Grouping {
						g.Expect(append([]string{"network_type"}, slices.Concat(slices.Collect(maps.Values(known.labels))...)...)).To(ContainElement(label))
					}
				}
				return nil
			})
		})
	}
}

func prefixed(name string, values []string) (all []string) {
	for _, value := range values {
		all = append(all, name+"="+value)
	}
	return all
}

// Gardener routes alerts by their labels, and would take its own label type for that of networks.
func TestAlertsAreAsGardenersAlertmanagersTakeThem(t *testing.T) {
	g := NewWithT(t)
	names := map[string]bool{}
	for job, m := range inALandscape(t) {
		for _, alert := range m.alerts() {
			g.Expect(names).NotTo(HaveKey(alert.Alert))
			names[alert.Alert] = true
			g.Expect(alert.Labels).To(And(HaveKeyWithValue("type", "seed"), HaveKeyWithValue("visibility", "operator"), HaveKeyWithValue("service", job),
				HaveKeyWithValue("severity", BeElementOf("blocker", "critical", "warning", "info"))), alert.Alert)
			g.Expect(alert.Annotations).To(And(HaveKey("summary"), HaveKey("description")), alert.Alert)
			g.Expect(alert.Expr.String()).NotTo(MatchRegexp(`by \([^)]*\btype\b`), alert.Alert)
		}
	}
}

func TestEachAlertIsExplained(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(content), "\n## Alerts\n")
	g.Expect(found).To(BeTrue())
	section, _, _ = strings.Cut(section, "\n## ")
	var explained, alerts []string
	for _, match := range regexp.MustCompile("(?m)^\\| `(Trellis\\w+)` \\| (\\w+) \\|").FindAllStringSubmatch(section, -1) {
		explained = append(explained, match[1]+" "+match[2])
	}
	for _, alert := range slices.Concat(onASeed(t).alerts(), inAGarden(t).alerts()) {
		alerts = append(alerts, alert.Alert+" "+alert.Labels["severity"])
	}
	g.Expect(explained).To(Equal(alerts))
}

func TestPlutonoCanDrawTheDashboards(t *testing.T) {
	for _, m := range inALandscape(t) {
		m.dashboard.ExpectToBeDrawn(t)
	}
}

// On a seed they must be where Gardener's Prometheus and Plutono look for them.
func TestAlertsAndTheDashboardAreWhereTheyAreLookedFor(t *testing.T) {
	g := NewWithT(t)
	seed := onASeed(t)
	g.Expect(seed.rule.Namespace).To(Equal("garden"))
	g.Expect(seed.rule.Labels).To(HaveKeyWithValue("prometheus", "seed"))
	g.Expect(seed.configMap.Namespace).To(Equal("garden"))
	g.Expect(seed.configMap.Labels).To(HaveKeyWithValue("dashboard.monitoring.gardener.cloud/seed", "true"))

	standalone := release{chart: "trellis-operator", name: "trellis", namespace: "trellis-system", has: []string{alertRule},
		values: "{mode: standalone, alerts: {labels: {release: prometheus}}, dashboard: {labels: {show: 'yes'}}}"}.monitoring(t)
	g.Expect(standalone.rule.Namespace).To(Equal("trellis-system"))
	g.Expect(standalone.rule.Labels).To(HaveKeyWithValue("release", "prometheus"))
	g.Expect(standalone.configMap.Namespace).To(Equal("trellis-system"))
	g.Expect(standalone.configMap.Labels).To(HaveKeyWithValue("show", "yes"))
}

// So must those of the admission, in the garden's runtime cluster.
func TestTheAdmissionIsMonitoredWhereItRuns(t *testing.T) {
	g := NewWithT(t)
	release := releases["the admission by Gardener's operator"]
	release.namespace = "garden"
	garden, scraped := release.monitoring(t), find[monitoringv1alpha1.ScrapeConfig](t, release.render(t), "ScrapeConfig")
	g.Expect(garden.rule.Labels).To(HaveKeyWithValue("prometheus", "garden"))
	g.Expect(scraped.Labels).To(HaveKeyWithValue("prometheus", "garden"))
	g.Expect(scraped.Spec.KubernetesSDConfigs[0].Namespaces.Names).To(Equal([]string{"garden"}))
	g.Expect(scraped.Spec.RelabelConfigs).To(ContainElement(And(HaveField("TargetLabel", "job"), HaveField("Replacement", HaveValue(Equal("trellis-admission"))))))
	g.Expect(garden.configMap.Labels).To(HaveKeyWithValue("dashboard.monitoring.gardener.cloud/garden", "true"))

	release = releases["the admission standalone"]
	release.namespace = "trellis-system"
	standalone := release.monitoring(t)
	g.Expect(standalone.rule.Labels).To(And(HaveKeyWithValue("release", "prometheus"), Not(HaveKey("prometheus"))))
	g.Expect(standalone.configMap.Labels).To(HaveKeyWithValue("grafana_dashboard", "1"))

	release.has = nil
	for _, object := range release.render(t) {
		g.Expect(object.GetAPIVersion()).NotTo(HavePrefix("monitoring.coreos.com/"), "the cluster has no such kind")
	}
}

// An object of a kind that the cluster lacks would fail the whole release.
func TestThereAreNoAlertsWithoutAPrometheus(t *testing.T) {
	for name, each := range map[string]release{
		"standalone, without Prometheus Operator": {values: "mode: standalone"},
		"a self-hosted shoot":                     releases["the operator in a self-hosted shoot, with ports of its node"],
		"an operator that wants none":             {values: injected + "alerts: {enabled: false}"},
	} {
		t.Run(name, func(t *testing.T) {
			each.chart, each.name, each.namespace = "trellis-operator", "trellis", "extension-trellis"
			for _, object := range each.render(t) {
				NewWithT(t).Expect(object.GetKind()).NotTo(Equal("PrometheusRule"))
			}
		})
	}
}

func freeAddress(g *WithT) string {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(free.Close()).To(Succeed())
	return free.Addr().String()
}

// expectServed fails unless a program serves each documented series, with its labels.
func expectServed(g Gomega, known documented, address string) {
	response, err := http.Get("http://" + address + "/metrics")
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	reader := expfmt.NewTextParser(model.LegacyValidation)
	families, err := reader.TextToMetricFamilies(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	for name, labels := range known.labels {
		family := families[name]
		if family == nil {
			family = families[histogram.ReplaceAllString(name, "")]
		}
		g.Expect(family).NotTo(BeNil(), "%s is not served", name)
		served := []string{"le"} // of a bucket
		for _, label := range family.Metric[0].Label {
			served = append(served, label.GetName())
		}
		g.Expect(served).To(ContainElements(labels), name)
	}
}

// histogram is what the names of a histogram's series have more than its own.
var histogram = regexp.MustCompile("_(bucket|count|sum)$")

// The expressions that docs/metrics.md offers can be used as they are.
func TestTheExpressionsOfThePageAboutMetricsReadDocumentedSeries(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, table, found := strings.Cut(string(content), "| Question | Expression |\n")
	g.Expect(found).To(BeTrue())
	table, _, _ = strings.Cut(table, "\n\n")
	known, expressions := readMetrics(t, "metrics.md"), regexp.MustCompile("(?m)\\| `(.+)` \\|$").FindAllStringSubmatch(table, -1)
	g.Expect(expressions).NotTo(BeEmpty())
	for _, expression := range expressions {
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression[1])
		g.Expect(err).NotTo(HaveOccurred(), expression[1])
		for _, selector := range selectors(parsed) {
			g.Expect(known.labels).To(HaveKey(selector.Name), expression[1])
		}
	}
}
