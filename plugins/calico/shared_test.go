// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
)

// allShared is a config that brings every object that is shared.
const allShared = "{multus: {enabled: true}, birdExporter: {enabled: true}}"

// render returns a network's objects for the shoot as the pipeline hands them out.
func render(t *testing.T, config string, options ...option) []plugin.Object {
	t.Helper()
	p, err := pipeline.New([]plugin.Plugin{calico.New()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result := p.Build(requestFor(t, config, options...))
	if len(result.Errors) > 0 {
		t.Fatal(result.Errors.ToAggregate())
	}
	return result.Objects.Shoot
}

func documents(t *testing.T, objects []plugin.Object) string {
	t.Helper()
	raw, err := pipeline.Documents(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestKindsAndRightsAreMadeOnce(t *testing.T) {
	g := NewWithT(t)
	first, second := render(t, allShared), render(t, allShared)
	g.Expect(second).To(HaveLen(len(first)))
	shared := 0
	for i, object := range first {
		if _, constant := object.(*plugin.Constant); constant {
			g.Expect(second[i]).To(BeIdenticalTo(object), object.GetName())
			shared++
			continue
		}
		g.Expect(second[i]).NotTo(BeIdenticalTo(object), object.GetName())
		g.Expect(object.GetObjectKind().GroupVersionKind().Kind).To(
			BeElementOf("DaemonSet", "Deployment", "ConfigMap", "ClusterRoleBinding"), object.GetName())
	}
	g.Expect(shared).To(BeNumerically(">", len(first)/2))
}
