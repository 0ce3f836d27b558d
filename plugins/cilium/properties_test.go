// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// isDefect says whether an error is the plugin's and not the user's.
func isDefect(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Type == field.ErrorTypeInternal })
}

func TestWhateverIsValidRenders(t *testing.T) {
	p := newPipeline()
	valid := 0
	rapid.Check(t, func(t *rapid.T) {
		request := anyRequest(t)
		result := p.Build(request)
		if isDefect(result.Errors) {
			t.Fatalf("%s: %v", request.Spec.ProviderConfig.Raw, result.Errors.ToAggregate())
		}
		if len(result.Errors) > 0 {
			return
		}
		valid++
		if len(result.Objects.Shoot) == 0 {
			t.Fatalf("%s renders nothing", request.Spec.ProviderConfig.Raw)
		}
	})
	if valid == 0 {
		t.Error("the configs are no good: none is valid")
	}
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
		for _, change := range changed.Changes {
			if change.Class == "" || change.Reason == "" {
				t.Fatalf("the change of %s says nothing", change.Path)
			}
		}
	})
}

func TestTheSameRequestGivesTheSameSettings(t *testing.T) {
	p := newPipeline()
	rapid.Check(t, func(t *rapid.T) {
		request := anyRequest(t)
		want := settingsOf(t, p, request)
		for range 4 {
			if got := settingsOf(t, p, request); got != want {
				t.Fatalf("the same Request gives\n%s\nand\n%s", want, got)
			}
		}
	})
}

// settingsOf is all that a Result says of a config, as text.
func settingsOf(t rapid.TB, p *pipeline.Pipeline, request pipeline.Request) string {
	t.Helper()
	result := p.Build(request)
	text := fmt.Sprintf("%s\n%v\n%v\n%v\n", result.Config, result.Origins, result.Warnings, result.Errors)
	for _, object := range result.Objects.Shoot {
		if object.GetName() == "cilium-config" {
			document, err := pipeline.Documents([]plugin.Object{object})
			if err != nil {
				t.Fatal(err)
			}
			text += string(document)
		}
	}
	return text
}

func FuzzConfigNeverPanics(f *testing.F) {
	for _, each := range matrix {
		f.Add(jsonOf(f, each.config), uint8(0))
		f.Add(jsonOf(f, each.config), uint8(2))
	}
	for _, config := range []string{"", "null", "[]", `{"overlay":null}`, `{"ipv6":{},"ipv4":{}}`, `{"l2Announcements":{"enabled":true,"leaseDuration":null}}`,
		`{"devices":[null]}`, `{"mtu":99999999999999999999}`, `{"kubeproxy":{"k8sServicePort":1e99}}`, `{"apiVersion":"cilium.gardener.cloud/v1"}`} {
		f.Add([]byte(config), uint8(1))
	}
	families := [][]extensionsv1alpha1.IPFamily{{extensionsv1alpha1.IPv4}, {extensionsv1alpha1.IPv6}, {extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}}
	p := newPipeline()
	f.Fuzz(func(t *testing.T, config []byte, chosen uint8) {
		request := requestFor(t, "", func(facts *plugin.Facts) {
			facts.IPFamilies = families[int(chosen)%len(families)]
			facts.NodeLocalDNS = chosen%2 == 0
			facts.KubeProxy.Enabled = chosen%5 != 0
			facts.Planned = chosen%7 != 0
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
