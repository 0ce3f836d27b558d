// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// helm renders one chart, as Gardener's chart renderer does for a network extension.
type helm struct {
	chart  *chart.Chart
	values common.Values
}

// Fields that differ between networks. The chart has values for them.
var (
	imageField = regexp.MustCompile(`(?m)^(\s+)image: (\S+)$`)
	// switchField is an environment variable whose value is true or false.
	switchField = regexp.MustCompile(`(?m)^(\s+- name: )(\w+)\n(\s+)value: "(true|false)"$`)
	// resourcesField is the resources of a container. The block ends with its indentation.
	resourcesField = regexp.MustCompile(`(?m)^( +)resources:\n((?: {10,}\S.*\n)+)`)
)

// chartOf makes a chart that renders to exactly these objects. Each object has a template,
// with values for ranges, images, switches and resources, and with a condition if the
// object is part of an optional component. A chart's author would also add helpers,
// checksums and loops. This chart has none, in Helm's favour.
func chartOf(tb testing.TB, objects []plugin.Object, ranges map[string]string) *helm {
	tb.Helper()
	a := &author{tb, map[string]any{}, map[string]any{}, map[string]any{}}
	h := &helm{chart: &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "network", Version: "1.0.0"}}}
	h.values = common.Values{
		"images": a.images, "switches": a.switches, "resources": a.resources,
		"components": map[string]any{"typha": true},
	}
	for i, object := range objects {
		text := a.template(object)
		for name, value := range ranges {
			text = strings.ReplaceAll(text, value, "{{ .Values."+name+" }}")
			h.values[name] = value
		}
		if strings.Contains(object.GetName(), "typha") {
			text = "{{- if .Values.components.typha }}\n" + text + "{{- end }}\n"
		}
		h.chart.Templates = append(h.chart.Templates, &common.File{
			Name: fmt.Sprintf("templates/%03d.yaml", i), Data: []byte(text),
		})
	}
	return h
}

// author writes templates and the values for them.
type author struct {
	testing.TB
	images, switches, resources map[string]any
}

func (a *author) template(object plugin.Object) string {
	document, err := pipeline.Document(object)
	if err != nil {
		a.Fatal(err)
	}
	raw, err := yaml.Marshal(document)
	if err != nil {
		a.Fatal(err)
	}
	text := resourcesField.ReplaceAllStringFunc(string(raw), a.resourcesBlock)
	text = imageField.ReplaceAllStringFunc(text, a.image)
	return switchField.ReplaceAllStringFunc(text, a.switched)
}

func (a *author) resourcesBlock(block string) string {
	parts := resourcesField.FindStringSubmatch(block)
	name := fmt.Sprintf("container%d", len(a.resources))
	var value any
	if err := yaml.Unmarshal([]byte(parts[2]), &value); err != nil {
		a.Fatal(err)
	}
	a.resources[name] = value
	return fmt.Sprintf("%sresources:\n{{ toYaml .Values.resources.%s | indent %d }}\n", parts[1], name, len(parts[1])+2)
}

func (a *author) image(line string) string {
	parts := imageField.FindStringSubmatch(line)
	name := fmt.Sprintf("container%d", len(a.images))
	a.images[name] = parts[2]
	return fmt.Sprintf("%simage: {{ .Values.images.%s }}", parts[1], name)
}

func (a *author) switched(lines string) string {
	parts := switchField.FindStringSubmatch(lines)
	a.switches[parts[2]] = parts[4] == "true"
	return fmt.Sprintf("%s%s\n%svalue: \"{{ .Values.switches.%s }}\"", parts[1], parts[2], parts[3], parts[2])
}

// render does what Helm does for each network: it merges the values, renders all
// templates, and sorts and joins the manifests to the YAML stream that becomes the
// content of the Secret. The chart is already loaded.
func (h *helm) render(tb testing.TB) []byte {
	release := common.ReleaseOptions{Name: "network", Namespace: "kube-system", IsInstall: true}
	values, err := util.ToRenderValues(h.chart, h.values, release, nil)
	if err != nil {
		tb.Fatal(err)
	}
	files, err := engine.Engine{}.RenderWithContext(tb.Context(), h.chart, values)
	if err != nil {
		tb.Fatal(err)
	}
	_, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	for _, manifest := range manifests {
		out.WriteString("---\n")
		out.WriteString(manifest.Content)
		out.WriteByte('\n')
	}
	return out.Bytes()
}
