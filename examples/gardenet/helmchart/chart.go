// SPDX-License-Identifier: Apache-2.0

// Package helmchart renders the objects of a network with a Helm chart, for plugins that
// already have a chart. Copy it into your own module.
//
//	//go:embed all:mychart
//	var files embed.FS
//
//	var objects = helmchart.MustLoad(files, "mychart")
//
//	func (definition) Render(effective *NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
//		shoot, err := objects.Render(valuesOf(effective, in), in)
//		return plugin.NewObjects(nil, plugin.NetworkBundle("my-network", shoot)), err
//	}
//
// Templates cannot look up objects in a cluster, or names by DNS. A template that calls now,
// randAlphaNum or genCA gives another result each time, and thereby causes a roll-out each
// time. plugintest detects that.
//
// Hooks are errors, since Trellis makes no Helm release. Rendering takes a hundred times
// longer than building objects in Go: see test/bench.
package helmchart

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
)

// notes is the file that Helm prints after an installation.
const notes = "NOTES.txt"

// Chart is a Helm chart. Any number of goroutines may render it. A lock lets one render at a
// time, since Helm's libraries write into a chart while they render it.
type Chart struct {
	mutex sync.Mutex
	chart *chart.Chart
}

// Load reads a chart, with the charts that it depends on below charts/, from a folder.
func Load(files fs.FS, folder string) (*Chart, error) {
	root, err := fs.Sub(files, folder)
	if err != nil {
		return nil, err
	}
	var buffered []*archive.BufferedFile
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		buffered = append(buffered, &archive.BufferedFile{Name: name, Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the chart in %s: %w", folder, err)
	}
	loaded, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, fmt.Errorf("load the chart in %s: %w", folder, err)
	}
	return &Chart{chart: loaded}, nil
}

// MustLoad is Load for charts that are part of the program. It panics if the chart cannot be
// loaded. Plugins call it when the program starts.
func MustLoad(files fs.FS, folder string) *Chart {
	loaded, err := Load(files, folder)
	if err != nil {
		panic(err)
	}
	return loaded
}

// Render returns the chart's objects: the CRDs in crds/ first, and then the objects of the
// templates in the order in which Helm installs them. values must encode as a JSON object. The
// chart's values.yaml has the defaults. The release has the name of the chart and the namespace
// kube-system. .Capabilities has the shoot's version.
func (c *Chart) Render(values any, in *plugin.Input) ([]plugin.Object, error) {
	given, err := mapOf(values)
	if err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	if in.KubernetesVersion != "" {
		version, err := common.ParseKubeVersion(in.KubernetesVersion)
		if err != nil {
			return nil, fmt.Errorf("the Kubernetes version %q: %w", in.KubernetesVersion, err)
		}
		capabilities.KubeVersion = *version
	}
	files, err := c.execute(given, capabilities)
	if err != nil {
		return nil, err
	}
	return c.objects(files)
}

func (c *Chart) execute(values map[string]any, capabilities *common.Capabilities) (map[string]string, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	release := common.ReleaseOptions{Name: c.chart.Name(), Namespace: metav1.NamespaceSystem, IsInstall: true, Revision: 1}
	merged, err := util.ToRenderValues(c.chart, values, release, capabilities)
	if err != nil {
		return nil, fmt.Errorf("the values for chart %s: %w", c.chart.Name(), err)
	}
	files, err := engine.Render(c.chart, merged)
	if err != nil {
		return nil, fmt.Errorf("render chart %s: %w", c.chart.Name(), err)
	}
	for name := range files {
		if path.Base(name) == notes {
			delete(files, name)
		}
	}
	return files, nil
}

func (c *Chart) objects(files map[string]string) ([]plugin.Object, error) {
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.chart.Name(), err)
	}
	if len(hooks) > 0 {
		return nil, fmt.Errorf("chart %s: %s is a hook, and Trellis runs no hooks; make it an object", c.chart.Name(), hooks[0].Path)
	}
	var objects []plugin.Object
	for _, crd := range c.chart.CRDObjects() {
		decoded, err := manifest.Decode(crd.Filename, string(crd.File.Data))
		if err != nil {
			return nil, err
		}
		objects = append(objects, decoded...)
	}
	for _, file := range manifests {
		decoded, err := manifest.Decode(file.Name, file.Content)
		if err != nil {
			return nil, err
		}
		objects = append(objects, decoded...)
	}
	return objects, nil
}

func mapOf(values any) (map[string]any, error) {
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode the values: %w", err)
	}
	stated := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber() // a template writes 1000000 as 1e+06 otherwise
	if err := decoder.Decode(&stated); err != nil {
		return nil, fmt.Errorf("the values are no JSON object: %w", err)
	}
	return stated, nil
}
