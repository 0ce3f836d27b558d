// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// configPath is the path of configs in this check: in a Shoot, so that it finds plugins
// which write the path of a Network into their errors.
var configPath = field.NewPath("spec", "networking", "providerConfig")

// validation: configs that are nonsense in one way or another are refused where the
// nonsense is, and those that are not can be rendered.
func validation(s *suite, found *report) {
	m := newMutator(s)
	for range mutations {
		config := m.next()
		for _, in := range clustersFor(s.plugin) {
			// Without anything special about a cluster, errors can only be about the config.
			if in.isPlain() || m.chance(20) {
				found.where = where(config, in)
				try(s, found, config, in)
			}
		}
	}
}

// try checks a config as the pipeline does, without the errors of the Network itself.
func try(s *suite, found *report, config string, in cluster) {
	written, errs := s.plugin.Decode([]byte(config), configPath)
	if len(errs) > 0 {
		return // which is the check decoding
	}
	effective, err := s.plugin.Clone(written)
	if err != nil {
		found.breach("%s cannot be copied: %v", config, err)
		return
	}
	input := in.input(s.plugin.FeatureGates, nil)
	_, refused, err := s.hooks(written, effective, &input, configPath, func(_ string, call func()) { call() })
	if err != nil {
		found.breach("a config is accepted and cannot be rendered; refuse it in Validate or ValidateEffective: %v", err)
	}
	for _, err := range refused {
		inside, isInside := strings.CutPrefix(err.Field, configPath.String()+".")
		switch {
		case err.Detail == "" && err.Type != field.ErrorTypeNotSupported:
			found.breach("the error %q does not say what is allowed; give it a detail", err)
		case in.isPlain() && !isInside:
			found.breach("the error %q does not name a field inside of %s; begin with the path that the hook is given", err, configPath)
		case isInside && !s.paths.MatchString(inside):
			found.breach("the error %q names %s, which is no field; write the field's path in JSON spelling", err, inside)
		}
	}
}
