// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/plugin"
)

// routes: what a DataPathDescriber advises makes a network that does without routes of the
// infrastructure, also while it runs.
func routes(s *suite, found *report) {
	for _, n := range slices.Concat(s.drawn(), s.varied(), s.networks()) {
		if n.config == nil || !n.renders() || n.request.Facts.Infrastructure.NoIPIP {
			continue
		}
		found.where = n.name
		path := s.plugin.DescribeDataPath(n.config)
		if !path.NeedsRoutes() {
			continue
		}
		if path.Field == "" || len(path.Instead) == 0 {
			found.breach("the network relies on routes of the infrastructure, and users are not told what to do where there are none; set Field and Instead of the DataPath")
		}
		if path.Field != "" && !s.paths.MatchString(path.Field) {
			found.breach("Field of the DataPath is %s, which is no field of the config", path.Field)
		}
		for _, edit := range path.Instead {
			s.checkAdvice(found, n, edit)
		}
	}
}

func (s *suite) checkAdvice(found *report, n network, edit plugin.Edit) {
	config := map[string]any{}
	_ = json.Unmarshal(n.request.Spec.ProviderConfig.Raw, &config) // nothing is a config too
	for _, path := range slices.Sorted(maps.Keys(edit.Values)) {
		if value := edit.Values[path]; value != nil {
			plugin.Put(config, path, value)
		} else {
			remove(config, path)
		}
	}
	request := n.request
	request.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(textOf(config))}
	request.Facts.Infrastructure.NoPodRoutes, request.Facts.Infrastructure.PodRoutes = true, false
	for _, running := range []bool{false, true} {
		if running {
			request.Applied = n.result.Applied()
		}
		if errs := s.pipeline.Build(request).Errors; len(errs) > 0 {
			found.breach("a user without routes who does what the DataPath advises is refused (%q, in a running network: %t): %v", edit, running, errs.ToAggregate())
		}
	}
}

// remove removes the field at a path, if it is there.
func remove(config map[string]any, path string) {
	block, name, nested := strings.Cut(path, ".")
	if !nested {
		delete(config, path)
	} else if inner, ok := config[block].(map[string]any); ok {
		remove(inner, name)
	}
}
