// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"bytes"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
)

func newPipeline() *pipeline.Pipeline {
	p, err := pipeline.New([]plugin.Plugin{calico.New()}, nil)
	if err != nil {
		panic(err)
	}
	return p
}

// isDefect says whether an error is the plugin's and not the user's.
func isDefect(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Type == field.ErrorTypeInternal })
}

func TestWhateverIsValidRenders(t *testing.T) {
	p := newPipeline()
	rapid.Check(t, func(t *rapid.T) {
		request := anyRequest(t)
		result := p.Build(request)
		if isDefect(result.Errors) {
			t.Fatalf("%s: %v", request.Spec.ProviderConfig.Raw, result.Errors.ToAggregate())
		}
		if len(result.Errors) == 0 && len(result.Objects.Shoot) == 0 {
			t.Fatalf("%s renders nothing", request.Spec.ProviderConfig.Raw)
		}
	})
}

// What is in force is a config like any other: applied once more it stays.
func TestWhatIsInForceStays(t *testing.T) {
	p := newPipeline()
	rapid.Check(t, func(t *rapid.T) {
		request := anyRequest(t)
		first := p.Build(request)
		if len(first.Errors) > 0 {
			t.Skip("invalid")
		}
		request.Applied = first.Applied()
		again := p.Build(request)
		if len(again.Errors) > 0 || len(again.Changes) > 0 || !bytes.Equal(first.Config, again.Config) {
			t.Fatalf("%s\nbecomes %s\nthen    %s\n%v %v", request.Spec.ProviderConfig.Raw, first.Config, again.Config, again.Errors, again.Changes)
		}
	})
}

// A field that was set once and is not any more leaves nothing behind.
func TestAChangedNetworkIsWhatANewOneWouldBe(t *testing.T) {
	p := newPipeline()
	rapid.Check(t, func(t *rapid.T) {
		before, after := anyRequest(t), anyRequest(t)
		after.Facts.Infrastructure = before.Facts.Infrastructure
		applied, fresh := p.Build(before), p.Build(after)
		if len(applied.Errors) > 0 || len(fresh.Errors) > 0 {
			t.Skip("invalid")
		}
		after.Applied = applied.Applied()
		changed := p.Build(after)
		if len(changed.Errors) > 0 {
			t.Skip("forbidden")
		}
		if !bytes.Equal(changed.Config, fresh.Config) {
			t.Fatalf("%s\nchanged to %s\nis           %s\na new one is %s",
				before.Spec.ProviderConfig.Raw, after.Spec.ProviderConfig.Raw, changed.Config, fresh.Config)
		}
	})
}

func FuzzConfigNeverPanics(f *testing.F) {
	for _, each := range matrix {
		f.Add(jsonOf(f, each.config), uint8(0))
		f.Add(jsonOf(f, each.config), uint8(2))
	}
	for _, config := range []string{"", "null", "[]", `{"ipam":null}`, `{"ipv6":{},"ipv4":{}}`, `{"autoScaling":{"mode":"vpa","resources":{"node":{"cpu":"1e99"}}}}`,
		`{"ipv4":{"autoDetectionMethod":"skip-interface=(((("}}`, `{"vethMTU":"99999999999999999999"}`, `{"apiVersion":"calico.extensions.gardener.cloud/v1alpha1"}`} {
		f.Add([]byte(config), uint8(1))
	}
	families := [][]extensionsv1alpha1.IPFamily{{extensionsv1alpha1.IPv4}, {extensionsv1alpha1.IPv6}, {extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}}
	p := newPipeline()
	f.Fuzz(func(t *testing.T, config []byte, chosen uint8) {
		request := requestFor(t, "", func(facts *plugin.Facts) {
			facts.IPFamilies = families[int(chosen)%len(families)]
			facts.VPA = chosen%2 == 0
			facts.KubeProxy.Enabled = chosen%5 != 0
		})
		request.Spec.ProviderConfig = &runtime.RawExtension{Raw: config}
		result := p.Build(request)
		if isDefect(result.Errors) {
			t.Fatal(result.Errors.ToAggregate())
		}
		if len(result.Errors) == 0 && len(result.Objects.Shoot) == 0 {
			t.Fatal("what is valid must render")
		}
	})
}
