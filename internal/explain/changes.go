// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Change is what some changes of a value mean for a running network.
type Change struct {
	Class  plugin.ChangeClass
	Reason string
	// With is another field that changes with it, and that Class and Reason are
	// about; empty if they are about the field itself.
	With string
	// Steps are the changes that this is about; none if it is about all.
	Steps []Step
}

// Step is a change of a value; nil stands for a field that is left out.
type Step struct{ From, To any }

// gravity orders classes from harmless to harmful.
var gravity = []plugin.ChangeClass{plugin.Safe, plugin.Rolling, plugin.Disruptive, plugin.Forbidden}

// changes tries each change between the values that can be listed. Where there
// are none, the plugin is asked for the field alone.
func (t *trial) changes(n *node) []Change {
	var values []any
	if len(t.path) == 1 || n.Type != "boolean" { // a switch in a block is on or off
		values = append(values, nil)
	}
	for _, value := range append(slices.Clone(n.allowed()), n.Examples...) {
		if value != "" {
			values = append(values, value)
		}
	}
	var found []Change
	for _, from := range values {
		for _, to := range values {
			if change, tells := t.change(from, to); from != to && tells {
				found = add(found, change, Step{from, to})
			}
		}
	}
	if len(found) == 0 {
		return t.anyChange()
	}
	slices.SortStableFunc(found, func(a, b Change) int {
		return slices.Index(gravity, b.Class) - slices.Index(gravity, a.Class)
	})
	if len(found) == 1 {
		found[0].Steps = nil
	}
	return found
}

func add(changes []Change, change Change, step Step) []Change {
	same := func(c Change) bool {
		return c.Class == change.Class && c.Reason == change.Reason && c.With == change.With
	}
	if i := slices.IndexFunc(changes, same); i >= 0 {
		changes[i].Steps = append(changes[i].Steps, step)
		return changes
	}
	change.Steps = []Step{step}
	return append(changes, change)
}

// change is the gravest thing that happens when the value of the field changes
// in a running network. It tells nothing if one of both networks is invalid, or
// if they are the same.
func (t *trial) change(from, to any) (Change, bool) {
	anywhere := t.circumstances()[0]
	before := t.build(t.config(from), anywhere, nil)
	if len(before.Errors) > 0 {
		return Change{}, false
	}
	after := t.build(t.config(to), anywhere, &before)
	own := strings.Join(t.path, ".")
	var worst *pipeline.Change
	for i := range after.Changes {
		c := &after.Changes[i]
		if worst == nil || slices.Index(gravity, c.Class) > slices.Index(gravity, worst.Class) ||
			c.Class == worst.Class && c.Path == own {
			worst = c
		}
	}
	if worst == nil {
		return Change{}, false
	}
	change := Change{Class: worst.Class, Reason: worst.Reason}
	if worst.Path != own {
		change.With = worst.Path
	}
	return change, true
}

// config is one in which the field has this value, or is left out of its block.
func (t *trial) config(value any) map[string]any {
	switch around := t.path[:len(t.path)-1]; {
	case value != nil:
		return put(nil, t.path, value)
	case len(around) > 0:
		return put(nil, around, map[string]any{})
	default:
		return nil
	}
}

// anyChange is what the plugin says of the field, whatever the values.
func (t *trial) anyChange() []Change {
	result := t.build(nil, t.circumstances()[0], nil)
	config, errs := t.plugin.Decode(result.Config, nil)
	if len(errs) > 0 {
		return nil
	}
	class, reason := t.plugin.Classify(strings.Join(t.path, "."), config, config)
	if class == "" {
		return nil
	}
	return []Change{{Class: class, Reason: reason}}
}
