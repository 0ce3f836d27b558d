// SPDX-License-Identifier: Apache-2.0

// Package charts tests what make charts writes: with Helm's library, as gardenlet renders charts, and
// with a real API server.
package charts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/helm"
	"github.com/trellis-network/trellis/test/sandbox"
)

var landscape = harness.Own(sandbox.Options{Shoots: []string{"garden-dev/one"}, Nodes: 2})

func TestMain(m *testing.M) {
	status := landscape.Main(m)
	if packed.dir != "" {
		_ = os.RemoveAll(packed.dir)
	}
	os.Exit(status)
}

var packed struct {
	once sync.Once
	dir  string
}

// charts returns the directory that make charts has written.
func charts(t *testing.T) string {
	t.Helper()
	packed.once.Do(func() { packed.dir = makeCharts(t) })
	if packed.dir == "" {
		t.Fatal("the charts could not be made")
	}
	return packed.dir
}

// makeCharts runs make charts, and returns the directory with the charts, which it does not remove.
func makeCharts(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "charts-")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "make", "-C", "../..", "charts", "CHARTS="+dir, "REGISTRY=registry.example.org/trellis", "TAG=v9.8.7")
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "MAKE") })
	if output, err := command.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		t.Fatalf("%v\n%s", err, output)
	}
	return dir
}

// release is a chart with values, as Helm or gardenlet installs it.
type release struct {
	chart, name, namespace string
	// values is YAML.
	values string
	// has are kinds that the cluster has beside Kubernetes' own.
	has []string
}

// render returns the objects of a release in the order in which Helm installs them.
func (r release) render(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := r.tryRender(t)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func (r release) tryRender(t *testing.T) ([]*unstructured.Unstructured, error) {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join(charts(t), r.chart+"-9.8.7.tgz"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return helm.Release{Chart: archive, Name: r.name, Namespace: r.namespace, Values: r.values, Has: r.has}.Render(t.Context())
}

// find returns the one object of a kind, or the one with a name of them, as a Go type.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind string, name ...string) *T {
	t.Helper()
	g := NewWithT(t)
	found := slices.DeleteFunc(slices.Clone(objects), func(object *unstructured.Unstructured) bool {
		return object.GetKind() != kind || len(name) > 0 && !slices.Contains(name, object.GetName())
	})
	g.Expect(found).To(HaveLen(1), kind)
	typed := new(T)
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(found[0].Object, typed, true)).To(Succeed())
	return typed
}

// Gardener compares the digest of a chart, and a change of it makes a ControllerInstallation new.
func TestTheSameSourcesMakeTheSameCharts(t *testing.T) {
	g := NewWithT(t)
	again := makeCharts(t)
	t.Cleanup(func() { _ = os.RemoveAll(again) })
	files, err := filepath.Glob(filepath.Join(charts(t), "*"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(5))
	for _, file := range files {
		first, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		second, err := os.ReadFile(filepath.Join(again, filepath.Base(file)))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bytes.Equal(first, second)).To(BeTrue(), file)
	}
}
