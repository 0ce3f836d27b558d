// SPDX-License-Identifier: Apache-2.0

// Package helm renders Trellis' own charts with Helm's library, as Helm and gardenlet do.
package helm

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Pack packs the charts in a checkout into a folder, as make charts does, with an image tag whose
// version, without its v, is that of the charts.
func Pack(ctx context.Context, checkout, folder, tag string) error {
	command := exec.CommandContext(ctx, "go", "run", "./hack/charts", "-o", folder, "-registry", "registry.example.org/trellis", "-tag", tag)
	command.Dir = checkout
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("pack the charts: %w: %s", err, output)
	}
	return nil
}

// Release is a chart with values.
type Release struct {
	// Chart is a packed chart.
	Chart           []byte
	Name, Namespace string
	// Values is YAML.
	Values string
	// Has are kinds that the cluster has beside Kubernetes' own, as GROUP/VERSION/KIND.
	Has []string
}

// Render returns the objects of the release in the order in which Helm installs them. Hooks are
// errors, since gardenlet runs none.
func (r Release) Render(ctx context.Context) ([]*unstructured.Unstructured, error) {
	chart, err := loader.LoadArchive(bytes.NewReader(r.Chart))
	if err != nil {
		return nil, err
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(r.Values), &given); err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), r.Has...)
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, IsInstall: true, Revision: 1}
	values, err := util.ToRenderValues(chart, given, options, capabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{}.RenderWithContext(ctx, chart, values)
	if err != nil {
		return nil, err
	}
	for name := range files {
		if path.Ext(name) != ".yaml" { // what templates share
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	if len(hooks) > 0 {
		return nil, fmt.Errorf("%s is a hook", hooks[0].Path)
	}
	var objects []*unstructured.Unstructured
	for _, manifest := range manifests {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(manifest.Content), &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", manifest.Name, err, manifest.Content)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
