// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// asCreated returns the candidate of a Shoot that is not created yet as trellis-admission completes it,
// with what it states.
func (in *input) asCreated(subject *manifest.Subject, p *pipeline.Pipeline) (*candidate, error) {
	shoot := subject.Shoot.DeepCopy()
	warnings, err := p.DefaultShoot(nil, shoot, in.environment())
	if err != nil {
		return nil, err
	}
	completed := *subject
	completed.Shoot = shoot
	if completed.Network, err = pipeline.NetworkForShoot(shoot); err != nil {
		return nil, err
	}
	one := in.candidateFor(&completed, p)
	one.warnings = append(warnings, one.warnings...)
	one.stated, err = addedTo(subject.Shoot, shoot)
	return one, err
}

// addedTo returns what a Shoot has got, as a JSON merge patch; empty if nothing.
func addedTo(before, after *corev1beta1.Shoot) (string, error) {
	former, err := json.Marshal(before)
	if err != nil {
		return "", err
	}
	latter, err := json.Marshal(after)
	if err != nil {
		return "", err
	}
	patch, err := jsonpatch.CreateMergePatch(former, latter)
	if err != nil || string(patch) == "{}" {
		return "", err
	}
	return string(patch), nil
}

// withStated returns a Shoot's manifest with what trellis-admission stated when the Shoot was created, and
// the Shoot in the garden still has. Neither kubectl apply nor other tools remove what the manifest
// never had. A Shoot that is no garden's, but another manifest, counts as it is.
func withStated(p *pipeline.Pipeline, old, shoot *corev1beta1.Shoot, env plugin.Environment) (*corev1beta1.Shoot, error) {
	if old == nil || old.UID == "" {
		return shoot, nil
	}
	created := shoot.DeepCopy()
	if _, err := p.DefaultShoot(nil, created, env); err != nil {
		return nil, err
	}
	var now, stated, before, applied map[string]any
	for _, each := range []struct {
		fields *map[string]any
		of     *corev1beta1.Shoot
	}{{&now, shoot}, {&stated, created}, {&before, old}} {
		text, err := json.Marshal(each.of)
		if err == nil {
			err = json.Unmarshal(text, each.fields)
		}
		if err != nil {
			return nil, fmt.Errorf("compare with what trellis-admission states: %w", err)
		}
	}
	if json.Unmarshal([]byte(old.Annotations[corev1.LastAppliedConfigAnnotation]), &applied) != nil {
		applied = nil // there is none
	}
	keep(now, stated, before, applied)
	text, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	kept := &corev1beta1.Shoot{}
	if err := json.Unmarshal(text, kept); err != nil {
		return nil, fmt.Errorf("decode the completed Shoot: %w", err)
	}
	return kept, nil
}

// keep adds to a manifest the stated values that it lacks, that the object still has, and that its user
// has not removed: applied is the manifest that the user applied before.
func keep(manifest, stated, object, applied map[string]any) {
	for name, value := range stated {
		has, isObject := manifest[name].(map[string]any)
		if manifest[name] != nil && !isObject {
			continue // the user's
		}
		if fields, areMore := value.(map[string]any); areMore {
			into := map[string]any{}
			maps.Copy(into, has)
			before, _ := object[name].(map[string]any)
			wrote, _ := applied[name].(map[string]any)
			if keep(into, fields, before, wrote); len(into) > 0 {
				manifest[name] = into
			}
			continue
		}
		if _, wrote := applied[name]; !isObject && !wrote && reflect.DeepEqual(object[name], value) {
			manifest[name] = value
		}
	}
}
