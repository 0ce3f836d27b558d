// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// BenchmarkState encodes what is kept in status.state of a network that is applied, and prints
// how large that is: for the largest of the examples, with the example's own size.
func BenchmarkState(b *testing.B) {
	kept, written := largestState(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := kept.Encode(); err != nil {
			b.Fatal(err)
		}
	}
	raw, _ := kept.Encode()
	b.ReportMetric(float64(len(raw.Raw)), "bytes-state")
	b.ReportMetric(float64(written), "bytes-config")
}

// The state has the effective config and the one that the user wrote, each once.
func TestTheStateStaysSmall(t *testing.T) {
	kept, written := largestState(t)
	raw, err := kept.Encode()
	if err != nil {
		t.Fatal(err)
	}
	effective := len(kept.Written.Config.Config)
	if limit := written + effective + 4096; len(raw.Raw) > limit {
		t.Errorf("%d bytes, of a config with %d and an effective one with %d: more than %d", len(raw.Raw), written, effective, limit)
	}
}

// largestState returns the state of the example whose state is the largest, and the size of the
// config that its user writes.
func largestState(tb testing.TB) (largest *state.State, written int) {
	tb.Helper()
	p, err := pipeline.New(plugins.All(), providers.All())
	if err != nil {
		tb.Fatal(err)
	}
	files, err := filepath.Glob("../../examples/shoot-*.yaml")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no examples: %v", err)
	}
	size := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		shoot := &corev1beta1.Shoot{}
		if err := yaml.Unmarshal(text, shoot); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		network, err := pipeline.NetworkForShoot(shoot)
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		built := p.Build(p.NewRequest(network, shoot, plugin.Environment{}))
		if len(built.Errors) > 0 {
			tb.Fatalf("%s: %v", file, built.Errors.ToAggregate())
		}
		kept := &state.State{Applied: built.Applied(), Components: built.Objects.Components}
		kept.Written = &state.Written{Config: kept.Applied, IPFamilies: built.IPFamilies, Warnings: built.Warnings}
		for i := range built.Objects.Bundles {
			kept.Bundles = append(kept.Bundles, state.BundleOf(&built.Objects.Bundles[i], "managedresource-"+built.Objects.Bundles[i].Name+"-0123abcd"))
		}
		raw, err := kept.Encode()
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		if len(raw.Raw) > size {
			size, largest, written = len(raw.Raw), kept, 0
			if network.Spec.ProviderConfig != nil {
				written = len(network.Spec.ProviderConfig.Raw)
			}
		}
	}
	return largest, written
}
