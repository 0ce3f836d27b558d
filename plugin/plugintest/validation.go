// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// configPath is where configs stand in this promise: in a Shoot, so that the test finds
// plugins which write the path of a Network into their errors.
var configPath = field.NewPath("spec", "networking", "providerConfig")

// validation: configs that are nonsense in one way or another are refused where the
// nonsense is, and those that are not can be rendered.
func validation(s *suite, found *report) {
	m := newMutator(s)
	clusters := s.clusters()
	for range mutations {
		config := m.next()
		for _, in := range clusters {
			// Without anything special about a cluster, errors can only be about the config.
			if in.isPlain() || m.chance(20) {
				s.try(found, config, in)
			}
		}
	}
}

// try judges a config as the pipeline does, but for errors of the Network itself.
func (s *suite) try(found *report, config string, in cluster) {
	defer found.survive(where(config, in))
	facts := in.input(s.plugin.FeatureGates, nil)
	written, errs := s.plugin.Decode([]byte(config), configPath)
	if len(errs) > 0 {
		return // which is the promise decoding
	}
	findings := s.plugin.Validate(written, &facts, configPath)
	s.checkErrors(found, findings.Errors, config, in)
	if len(findings.Errors) > 0 {
		return
	}
	effective, err := s.plugin.Clone(written)
	if err != nil {
		found.breach("%s cannot be copied: %v", config, err)
		return
	}
	s.plugin.Default(effective, &facts, &plugin.Origins{})
	findings = s.plugin.ValidateEffective(effective, written, &facts, configPath)
	s.checkErrors(found, findings.Errors, config, in)
	if len(findings.Errors) > 0 {
		return
	}
	for _, v := range s.values {
		s.plugin.Classify(v.path, written, effective, &facts, &facts)
	}
	if _, err := s.plugin.Render(effective, &facts); err != nil {
		found.breachIn(where(config, in), "a config is accepted and cannot be rendered; refuse it in Validate or ValidateEffective: %v", err)
	}
}

// checkErrors looks whether errors tell their readers what they need.
func (s *suite) checkErrors(found *report, errs field.ErrorList, config string, in cluster) {
	for _, err := range errs {
		inside, isInside := strings.CutPrefix(err.Field, configPath.String()+".")
		switch {
		case err.Detail == "" && err.Type != field.ErrorTypeNotSupported:
			found.breachIn(where(config, in), "the error %q does not say what is allowed; give it a detail", err)
		case in.isPlain() && !isInside:
			found.breachIn(where(config, in), "the error %q does not name a field inside of %s; begin with the path that the hook is given", err, configPath)
		case isInside && !hasField(s.config, inside):
			found.breachIn(where(config, in), "the error %q names %s, which is no field; write the field's path in JSON spelling", err, inside)
		}
	}
}

func where(config string, in cluster) string {
	return fmt.Sprintf("a cluster with %s; the config was %s", in.name, config)
}
