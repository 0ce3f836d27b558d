// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

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
	// When says in which clusters; none if it is so wherever nothing else is said.
	When []string
	// Steps are the changes that this is about; none if it is about all.
	Steps []Step
}

// Step is a change of a value; nil stands for a field that is left out.
type Step struct{ From, To any }

// gravity orders classes from harmless to harmful.
var gravity = []plugin.ChangeClass{plugin.Safe, plugin.Rolling, plugin.Disruptive, plugin.Forbidden}

// changes tries each change between the values that can be listed, first where
// nothing is known of the cluster, or else where the field means anything at all,
// and then where it may mean something else; then beside other fields, for what is
// as grave as nothing so far. Where nothing comes of it, the plugin is asked for the
// field alone.
func (t *trial) changes(n *node) []Change {
	values := t.values(n)
	var found []Change
	told := map[Step]Change{} // by the first circumstance
	for _, c := range t.circumstances() {
		first := len(told) == 0
		for _, tried := range t.changesIn(c, values) {
			change, step := tried, tried.Steps[0]
			before, known := told[step]
			switch {
			case first:
				told[step] = change
			case known && same(before, change):
				continue
			case !known && slices.ContainsFunc(found, func(c Change) bool { return same(c, change) && len(c.When) == 0 }):
				continue // what happens is known, and only that this may bring it is not
			default:
				change.When = []string{c.when}
			}
			found = add(found, change)
		}
	}
	found = append(joined(found), t.further(found, values)...)
	if len(found) == 0 {
		return t.anyChange()
	}
	slices.SortStableFunc(found, func(a, b Change) int {
		if len(a.When) == 0 != (len(b.When) == 0) {
			return len(a.When) - len(b.When)
		}
		return slices.Index(gravity, b.Class) - slices.Index(gravity, a.Class)
	})
	if len(found) == 1 {
		found[0].Steps = nil
	}
	return found
}

// values are those that the field may have, and nil for one that is left out.
func (t *trial) values(n *node) []any {
	var values []any
	// A switch that is left out of its block is off; whether the block is there at
	// all is a matter of the switch that it is about.
	if len(t.path) == 1 || n.Type != "boolean" || isMainSwitch(t.path) {
		values = append(values, nil)
	}
	for _, value := range slices.Concat(n.allowed(), n.Examples, n.lists()) {
		isKnown := slices.ContainsFunc(values, func(known any) bool { return reflect.DeepEqual(known, value) })
		if value != "" && !isKnown {
			values = append(values, value)
		}
	}
	return values
}

// isMainSwitch says whether the field at path switches the block on that it stands in.
func isMainSwitch(path []string) bool { return len(path) > 1 && path[len(path)-1] == "enabled" }

// changesIn tries each change between two values in a circumstance. Each has one
// step.
func (t *trial) changesIn(c circumstance, values []any) []Change {
	var found []Change
	for _, before := range t.networks(values, c) {
		for _, to := range values {
			if reflect.DeepEqual(before.value, to) {
				continue
			}
			if change, tells := t.change(&before, to); tells {
				change.Steps = []Step{{shown(before.value), shown(to)}}
				found = append(found, change)
			}
		}
	}
	return found
}

// shown is a value that can be compared: a list is as it is written.
func shown(value any) any {
	list, isList := value.([]any)
	if !isList {
		return value
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil // only values that were JSON come here
	}
	return string(text)
}

func same(a, b Change) bool {
	return a.Class == b.Class && a.Reason == b.Reason && a.With == b.With
}

// add adds a change of one step to one that is the same in the same clusters.
func add(changes []Change, change Change) []Change {
	i := slices.IndexFunc(changes, func(c Change) bool { return same(c, change) && slices.Equal(c.When, change.When) })
	if i >= 0 {
		changes[i].Steps = append(changes[i].Steps, change.Steps...)
		return changes
	}
	return append(changes, change)
}

// joined makes one of changes that differ only in the clusters that they are
// about.
func joined(changes []Change) []Change {
	var found []Change
	for _, change := range changes {
		i := slices.IndexFunc(found, func(c Change) bool {
			return same(c, change) && slices.Equal(c.Steps, change.Steps) && len(c.When) > 0 && len(change.When) > 0
		})
		if i >= 0 {
			found[i].When = append(found[i].When, change.When...)
			continue
		}
		found = append(found, change)
	}
	return found
}

// change is the gravest thing that happens when the field gets another value in a
// running network. It tells nothing if that is invalid, or changes nothing.
func (t *trial) change(before *network, to any) (Change, bool) {
	after := t.build(t.config(to), before.in, before)
	return t.gravest(&after)
}

// gravest is what is told of a build: the gravest change, or the field's own if none
// is graver.
func (t *trial) gravest(after *pipeline.Result) (Change, bool) {
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

// config is one in which the field has this value, or is left out: a switch
// together with its block, another field without it.
func (t *trial) config(value any) map[string]any {
	config, _ := runtime.DeepCopyJSONValue(t.around).(map[string]any)
	if config == nil {
		config = map[string]any{}
	}
	switch around := t.path[:len(t.path)-1]; {
	case value != nil:
		plugin.Put(config, strings.Join(t.path, "."), value)
	case len(around) > 0 && !isMainSwitch(t.path) && !has(config, around):
		plugin.Put(config, strings.Join(around, "."), map[string]any{})
	}
	return config
}

// has says whether something is written at path.
func has(config map[string]any, path []string) bool {
	inner, there := config[path[0]]
	if object, isBlock := inner.(map[string]any); isBlock && len(path) > 1 {
		return has(object, path[1:])
	}
	return there
}

// own is what a build says of the field itself.
func (t *trial) own(after *pipeline.Result) (Change, bool) {
	path := strings.Join(t.path, ".")
	for _, change := range after.Changes {
		if change.Path == path {
			return Change{Class: change.Class, Reason: change.Reason}, true
		}
	}
	return Change{}, false
}

// classes returns the classes of changes and of what the plugin says where nothing is
// known, gravest first.
func (t *trial) classes(changes []Change) []plugin.ChangeClass {
	for _, in := range t.networkOf(map[string]any{}, nil, t.circumstances()[0]) {
		changes = append(changes, t.anyChange()...)
		if config, errs := t.plugin.Decode([]byte("{}"), nil); len(errs) == 0 {
			empty := network{&settled{in.applied, config}, nil, in.in}
			class, _ := t.classOf(&empty, &empty)
			changes = append(changes, Change{Class: class})
		}
	}
	var classes []plugin.ChangeClass
	for _, class := range []plugin.ChangeClass{plugin.Forbidden, plugin.Disruptive, plugin.Rolling, plugin.Safe} {
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Class == class }) {
			classes = append(classes, class)
		}
	}
	return classes
}

// anyChange is what the plugin says of the field whatever its values: where no value is
// known, or none makes a difference by itself.
func (t *trial) anyChange() []Change {
	for _, in := range t.networkOf(map[string]any{}, nil, t.circumstances()[0]) {
		if class, reason := t.classOf(&in, &in); class != "" {
			return []Change{{Class: class, Reason: reason}}
		}
	}
	return nil
}
