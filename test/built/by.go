// SPDX-License-Identifier: Apache-2.0

package built

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// By builds networks by one plugin. N is what its tests call a network: what embeds a
// *Network and knows the plugin's own objects.
type By[N Holder] struct {
	// New makes the plugin. Each network is built by one of its own.
	New func() plugin.Plugin
	// Facts changes what is known of every cluster, before a test's options do.
	Facts Option
	// As makes of a network what the tests call one.
	As func(*Network) N
}

// Holder is a *Network, or what embeds one.
type Holder interface{ network() *Network }

// Objects returns a network's objects as the pipeline hands them out, Constants among
// them. It fails if there are errors.
func (by By[N]) Objects(t *testing.T, config string, options ...Option) plugin.Objects {
	t.Helper()
	result := by.result(t, by.Request(t, config, options...))
	if len(result.Errors) > 0 {
		t.Fatalf("%s\nhas errors: %v", config, result.Errors.ToAggregate())
	}
	return result.Objects
}

func (by By[N]) result(t *testing.T, request pipeline.Request) pipeline.Result {
	t.Helper()
	p, err := pipeline.New([]plugin.Plugin{by.New()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Build(request)
}

// TryRequest builds a network that may have errors.
func (by By[N]) TryRequest(t *testing.T, request pipeline.Request) N {
	t.Helper()
	result := by.result(t, request)
	for _, bundle := range result.Objects.Bundles {
		group := bundle.Objects
		for i, object := range group {
			if constant, ok := object.(*plugin.Constant); ok {
				group[i] = constant.DeepCopyObject().(plugin.Object) // tests look into it
			}
		}
	}
	return by.As(&Network{t, result})
}

// Try builds a network for a config that may have errors.
func (by By[N]) Try(t *testing.T, config string, options ...Option) N {
	t.Helper()
	return by.TryRequest(t, by.Request(t, config, options...))
}

// Build builds a network without errors.
func (by By[N]) Build(t *testing.T, config string, options ...Option) N {
	t.Helper()
	n := by.Try(t, config, options...)
	if errs := n.network().Errors; len(errs) > 0 {
		t.Fatalf("%s\nhas errors: %v", config, errs.ToAggregate())
	}
	return n
}

// Then builds the network that comes after one that was applied. It may have errors.
func (by By[N]) Then(before N, config string, options ...Option) N {
	n := before.network()
	n.T.Helper()
	request := by.Request(n.T, config, options...)
	request.Applied = n.Applied()
	return by.TryRequest(n.T, request)
}

// Changed builds a network for after where before was applied last, in the same cluster.
// It may have errors.
func (by By[N]) Changed(t *testing.T, before, after string, options ...Option) N {
	t.Helper()
	return by.Then(by.Build(t, before, options...), after, options...)
}

// ExpectDataPaths fails unless the plugin tells this of how packets travel, by the config of a
// network without errors.
func (by By[N]) ExpectDataPaths(t *testing.T, want map[string]string, options ...Option) {
	t.Helper()
	one := by.New()
	for config, path := range want {
		effective, errs := one.Decode(by.Build(t, config, options...).network().Config, nil)
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		gomega.NewWithT(t).Expect(one.DescribeDataPath(effective).In(&plugin.Infrastructure{})).To(gomega.Equal(path), config)
	}
}
