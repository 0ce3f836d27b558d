// SPDX-License-Identifier: Apache-2.0

package built

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

// ExpectScrapeConfig fails unless the shoot's Prometheus finds what has this role in the
// shoot's kube-system through its API server. What it makes of that is in relabelings.
func ExpectScrapeConfig(t *testing.T, config *monitoringv1alpha1.ScrapeConfig, role, relabelings string) {
	t.Helper()
	const access = `"authorization": {"credentials": {"name": "shoot-access-prometheus-shoot", "key": "token"}},
		"tlsConfig": {"ca": {}, "cert": {}, "insecureSkipVerify": true}`
	raw, err := json.Marshal(Document(t, config))
	if err != nil {
		t.Fatal(err)
	}
	gomega.NewWithT(t).Expect(raw).To(gomega.MatchJSON(`{
		"apiVersion": "monitoring.coreos.com/v1alpha1", "kind": "ScrapeConfig",
		"metadata": {"name": "` + config.Name + `", "namespace": "shoot--test--one", "labels": {"prometheus": "shoot"}},
		"spec": {
			"scheme": "HTTPS", ` + access + `,
			"kubernetesSDConfigs": [{
				"role": "` + role + `", "apiServer": "https://kube-apiserver", "namespaces": {"names": ["kube-system"]},
				"followRedirects": true, ` + access + `
			}], ` + relabelings + `
		}}`))
}

// KeptBy returns which metrics a ScrapeConfig keeps of all that it finds.
func KeptBy(n Holder, scrape string) string {
	n.network().T.Helper()
	g := gomega.NewWithT(n.network().T)
	keeps := InSeed[*monitoringv1alpha1.ScrapeConfig](n, scrape).Spec.MetricRelabelConfigs
	g.Expect(keeps).To(gomega.HaveLen(1))
	g.Expect(keeps[0].SourceLabels).To(gomega.Equal([]monitoringv1.LabelName{"__name__"}))
	return keeps[0].Regex
}

// Dashboard is a dashboard as Plutono reads it, as far as tests look at it.
type Dashboard struct {
	UID           string                    `json:"uid"`
	Title         string                    `json:"title"`
	SchemaVersion int                       `json:"schemaVersion"`
	Refresh       string                    `json:"refresh"`
	Time          struct{ From, To string } `json:"time"`
	Panels        []struct {
		ID      int                      `json:"id"`
		Type    string                   `json:"type"`
		Title   string                   `json:"title"`
		GridPos struct{ X, Y, W, H int } `json:"gridPos"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Query string `json:"query"`
		} `json:"list"`
	} `json:"templating"`
}

// ReadDashboard returns the dashboard at a key of the seed's ConfigMap of that name.
func ReadDashboard(n Holder, configMap, key string) *Dashboard {
	n.network().T.Helper()
	parsed := &Dashboard{}
	if err := json.Unmarshal([]byte(InSeed[*corev1.ConfigMap](n, configMap).Data[key]), parsed); err != nil {
		n.network().T.Fatalf("%s: %v", key, err)
	}
	return parsed
}

// Rows are the titles of its rows.
func (d *Dashboard) Rows() []string {
	var rows []string
	for _, panel := range d.Panels {
		if panel.Type == "row" {
			rows = append(rows, panel.Title)
		}
	}
	return rows
}

// Queries are those of its panels and of its variables.
func (d *Dashboard) Queries() []string {
	var list []string
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			list = append(list, target.Expr)
		}
	}
	for _, variable := range d.Templating.List {
		list = append(list, variable.Query)
	}
	return list
}

// ExpectToBeDrawn fails unless Plutono can draw it: each panel has what it needs, and
// lies over no other.
func (d *Dashboard) ExpectToBeDrawn(t *testing.T) {
	t.Helper()
	g := gomega.NewWithT(t)
	g.Expect(d.Title).NotTo(gomega.BeEmpty())
	g.Expect(d.SchemaVersion).To(gomega.Equal(27), "that of Plutono, which branched off Grafana 7.5")
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, panel := range d.Panels {
		g.Expect(panel.Title).NotTo(gomega.BeEmpty())
		g.Expect([]string{"row", "stat", "graph"}).To(gomega.ContainElement(panel.Type), panel.Title)
		g.Expect(panel.ID).To(gomega.BeNumerically(">", 0), panel.Title)
		g.Expect(ids).NotTo(gomega.HaveKey(panel.ID), panel.Title)
		ids[panel.ID] = true
		g.Expect(len(panel.Targets) > 0).To(gomega.Equal(panel.Type != "row"), panel.Title)
		at := panel.GridPos
		g.Expect(at.X+at.W).To(gomega.BeNumerically("<=", 24), panel.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				g.Expect(cells[[2]int{x, y}]).To(gomega.BeEmpty(), "%s lies under it", panel.Title)
				cells[[2]int{x, y}] = panel.Title
			}
		}
	}
}

// ExpectOnly fails unless each of its queries reads metrics, and none but those that
// are kept, which is a regular expression.
func (d *Dashboard) ExpectOnly(t *testing.T, kept string) {
	t.Helper()
	g := gomega.NewWithT(t)
	metrics := regexp.MustCompile(kept)
	for _, query := range d.Queries() {
		g.Expect(MetricsIn(query)).NotTo(gomega.BeEmpty(), query)
		for _, metric := range MetricsIn(query) {
			g.Expect(metrics.MatchString(metric)).To(gomega.BeTrue(), "%s in %s", metric, query)
		}
	}
}

// What a query has besides metrics: matchers, groupings, ranges, and the words of
// the query language.
var (
	notMetrics = regexp.MustCompile(`"[^"]*"|\{[^}]*\}|\[[^\]]*\]|\b(by|without) \([^)]*\)`)
	identifier = regexp.MustCompile(`[a-zA-Z_][a-zA-Z0-9_]*`)
	vocabulary = []string{"sum", "avg", "max", "min", "count", "rate", "increase", "deriv", "or", "vector", "topk", "histogram_quantile"}
	labelQuery = regexp.MustCompile(`^label_values\((\w+), \w+\)$`)
)

// MetricsIn returns the metrics that a query reads.
func MetricsIn(query string) []string {
	if match := labelQuery.FindStringSubmatch(query); match != nil {
		return match[1:]
	}
	var metrics []string
	for _, word := range identifier.FindAllString(notMetrics.ReplaceAllString(query, ""), -1) {
		if !slices.Contains(vocabulary, word) {
			metrics = append(metrics, word)
		}
	}
	return metrics
}
