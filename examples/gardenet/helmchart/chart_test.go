// SPDX-License-Identifier: Apache-2.0

package helmchart_test

import (
	"os"
	"sync"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.org/gardenet/helmchart"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

var exampleChart = helmchart.MustLoad(os.DirFS("testdata"), "example")

type values struct {
	Revisions int    `json:"revisions,omitempty"`
	Text      string `json:"text,omitempty"`
	Broken    string `json:"broken,omitempty"`
}

func TestAChartGivesTypedObjectsInOrder(t *testing.T) {
	g := NewWithT(t)
	objects, err := exampleChart.Render(values{Revisions: 1_000_000, Text: "bye"}, &plugin.Input{Facts: plugin.Facts{KubernetesVersion: "1.36.3"}})
	g.Expect(err).NotTo(HaveOccurred())
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetObjectKind().GroupVersionKind().Kind)
	}
	g.Expect(kinds).To(Equal([]string{"CustomResourceDefinition", "ServiceAccount", "DaemonSet", "Example"}))
	g.Expect(objects[1].(*corev1.ServiceAccount).Annotations).To(HaveKeyWithValue("text", "bye"))
	agents := objects[2].(*appsv1.DaemonSet)
	g.Expect(agents.Namespace).To(Equal("kube-system"))
	g.Expect(agents.Labels).To(HaveKeyWithValue("kubernetes", "v1.36.3"))
	g.Expect(*agents.Spec.RevisionHistoryLimit).To(BeEquivalentTo(1_000_000))
	documents, err := pipeline.Documents(objects)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(documents)).To(ContainSubstring(`"size":1000000`))
}

func TestMissingValuesComeFromTheChart(t *testing.T) {
	g := NewWithT(t)
	objects, err := exampleChart.Render(nil, &plugin.Input{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects[1].GetAnnotations()).To(HaveKeyWithValue("text", "hello"))
}

func TestAnErrorOfRenderNamesTheCause(t *testing.T) {
	for name, test := range map[string]struct {
		values any
		facts  plugin.Input
		wants  string
	}{
		"a hook":                     {values{Broken: "hook"}, plugin.Input{}, "example/templates/account.yaml is a hook, and Trellis runs no hooks"},
		"invalid YAML":               {values{Broken: "yaml"}, plugin.Input{}, "example/templates/account.yaml"},
		"an unknown field":           {values{Broken: "field"}, plugin.Input{}, `unknown field "spec.noSuchField"`},
		"a missing value":            {map[string]any{"text": ""}, plugin.Input{}, "text must be set"},
		"values that are a string":   {"text", plugin.Input{}, "the values are no JSON object"},
		"values that are a function": {func() {}, plugin.Input{}, "encode the values"},
		"an invalid version":         {nil, plugin.Input{Facts: plugin.Facts{KubernetesVersion: "newest"}}, `the Kubernetes version "newest"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := exampleChart.Render(test.values, &test.facts)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.wants)))
		})
	}
}

func TestManyAtATime(t *testing.T) {
	g := NewWithT(t)
	want, err := exampleChart.Render(nil, &plugin.Input{})
	g.Expect(err).NotTo(HaveOccurred())
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			for range 20 {
				got, err := exampleChart.Render(nil, &plugin.Input{})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got).To(Equal(want))
			}
		})
	}
	done.Wait()
}

func TestAFolderWithoutAChartIsAnError(t *testing.T) {
	g := NewWithT(t)
	_, err := helmchart.Load(fstest.MapFS{"mine/values.yaml": {Data: []byte("a: 1")}}, "mine")
	g.Expect(err).To(MatchError(ContainSubstring("load the chart in mine: Chart.yaml file is missing")))
	_, err = helmchart.Load(fstest.MapFS{}, "nowhere")
	g.Expect(err).To(MatchError(ContainSubstring("read the chart in nowhere")))
}
