// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterParser and clusterFilter have of these kinds what the chart writes. find refuses other fields.
type clusterParser struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Regex struct {
			Regex      string `json:"regex"`
			TimeKey    string `json:"timeKey"`
			TimeFormat string `json:"timeFormat"`
		} `json:"regex"`
	} `json:"spec"`
}

type clusterFilter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Match   string `json:"match"`
		Filters []struct {
			Parser struct {
				KeyName     string `json:"keyName"`
				Parser      string `json:"parser"`
				ReserveData bool   `json:"reserveData"`
			} `json:"parser"`
		} `json:"filters"`
	} `json:"spec"`
}

func TestTheSeedReadsTheFieldsOfCaliconodesLogs(t *testing.T) {
	g := NewWithT(t)
	release := releases["the operator on a seed"]
	release.namespace = "extension-trellis"
	objects := release.render(t)
	parser, filter := find[clusterParser](t, objects, "ClusterParser"), find[clusterFilter](t, objects, "ClusterFilter")
	for _, labels := range []map[string]string{parser.Labels, filter.Labels} {
		g.Expect(labels).To(And(HaveKeyWithValue("fluentbit.gardener/type", "seed"), HaveKeyWithValue("fluentbit.gardener.cloud/type", "seed")))
	}
	g.Expect(filter.Spec.Match).To(Equal("kubernetes.*calico-node*calico-node*"))
	g.Expect(filter.Spec.Filters).To(HaveLen(1))
	g.Expect(filter.Spec.Filters[0].Parser.Parser).To(Equal(parser.Name))
	g.Expect(filter.Spec.Filters[0].Parser.KeyName).To(Equal("log"))
	g.Expect(filter.Spec.Filters[0].Parser.ReserveData).To(BeTrue(), "what the line has beside the log stays")

	expression := regexp.MustCompile(parser.Spec.Regex.Regex)
	g.Expect(expression.SubexpNames()[1:]).To(Equal([]string{"time", "severity", "pid", "source", "log"}))
	g.Expect(parser.Spec.Regex.TimeKey).To(Equal("time"))
	for line, fields := range map[string][]string{
		"2026-11-24 00:12:01.123 [INFO][57] felix/int_dataplane.go 1234: Applied the dataplane: 2 changes": {"2026-11-24 00:12:01.123", "INFO", "57", "felix/int_dataplane.go 1234", "Applied the dataplane: 2 changes"},
		"2026-11-24 00:12:01.123 [WARNING][9] startup/startup.go 1: ":                                      {"2026-11-24 00:12:01.123", "WARNING", "9", "startup/startup.go 1", ""},
		"bird: Mesh_10_250_0_3: Connected to table master":                                                 nil,
	} {
		matched := expression.FindStringSubmatch(line)
		if fields == nil {
			g.Expect(matched).To(BeNil(), "it stays as it is")
			continue
		}
		g.Expect(matched[1:]).To(Equal(fields))
		g.Expect(parser.Spec.Regex.TimeFormat).To(Equal("%Y-%m-%d %H:%M:%S.%L"))
		_, err := time.Parse("2006-01-02 15:04:05.000", fields[0]) // the same in Go
		g.Expect(err).NotTo(HaveOccurred())
	}
}
