// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// setting is a field with a value.
type setting struct {
	path  []string
	value any
}

// further collects changes of classes that have not been found yet, of each class the
// first.
type further struct {
	*trial
	known map[plugin.ChangeClass]bool
	found []Change
}

// further tries what needs more than the field alone: that the cluster's IP families
// change, that other fields are written, and that they come or go with it.
func (t *trial) further(found []Change, values []any) []Change {
	f := &further{trial: t, known: map[plugin.ChangeClass]bool{}}
	for _, change := range found {
		f.known[change.Class] = true
	}
	f.familiesChange(nil)
	contexts := t.contexts()
	for _, others := range contexts {
		f.beside(others, values)
	}
	for _, kept := range t.refusing(found) {
		for _, others := range contexts {
			f.beside(append(slices.Clone(others), kept), values)
		}
	}
	for _, others := range contexts {
		f.familiesChange(others)
		f.together(others, values)
	}
	return f.found
}

func (f *further) tell(change Change, when string) {
	change.When = []string{strings.TrimSpace(when)}
	f.tellAll([]Change{change})
}

// familiesChange tries what becomes of the field when a cluster gets an IP family, or
// gives one back, while others are written.
func (f *further) familiesChange(others []setting) {
	with := *f.trial
	with.around = written(others)
	var networks []network
	for _, c := range f.circumstances() {
		if c.families != "" {
			networks = append(networks, with.networkOf(with.around, nil, c)...)
		}
	}
	for i := range networks {
		for j := range networks {
			if i == j || !f.promises(&networks[i], &networks[j]) {
				continue
			}
			from, to := networks[i].in, networks[j].in
			after := f.build(with.around, to, &networks[i])
			if change, tells := f.own(&after); tells && len(after.Errors) == 0 {
				f.tell(change, fmt.Sprintf("if the network goes from %s to %s %s", from.families, to.families, spoken("with", others)))
			}
		}
	}
}

// beside tries the field while others are written and stay.
func (f *further) beside(others []setting, values []any) {
	with := *f.trial
	with.around = written(others)
	for _, c := range f.circumstances() {
		if !c.servesIPv4() {
			continue
		}
		var found []Change
		networks := with.networks(values, c)
		for i := range networks {
			for j := range networks {
				if !f.promises(&networks[i], &networks[j]) {
					continue
				}
				if change, tells := with.change(&networks[i], networks[j].value); tells {
					change.Steps = []Step{{shown(networks[i].value), shown(networks[j].value)}}
					change.When = []string{strings.TrimSpace(c.when + " " + spoken("with", others))}
					found = add(found, change)
				}
			}
		}
		f.tellAll(found)
	}
}

// tellAll tells changes of one context, of which several may be of the same class.
func (f *further) tellAll(changes []Change) {
	var news []Change
	for _, change := range changes {
		if change.With == "" && !f.known[change.Class] { // what another field means is told of that one
			news = append(news, change)
		}
	}
	for _, change := range news {
		f.known[change.Class] = true
	}
	f.found = append(f.found, news...)
}

// together tries what the field means when others come or go with it.
func (f *further) together(others []setting, values []any) {
	with := *f.trial
	with.around = written(others)
	c := f.circumstances()[0]
	without := f.networks([]any{nil}, c)
	if len(without) == 0 {
		return
	}
	for _, network := range with.networks(values, c) {
		if f.promises(&without[0], &network) {
			after := f.build(with.config(network.value), c, &without[0])
			f.tellTogether(&after, others)
		}
		if f.promises(&network, &without[0]) {
			after := f.build(f.config(nil), c, &network)
			f.tellTogether(&after, others)
		}
	}
}

func (f *further) tellTogether(after *pipeline.Result, others []setting) {
	if change, tells := f.own(after); tells && len(after.Errors) == 0 {
		f.tell(change, spoken("together with", others))
	}
}

// networks are those that are valid.
func (t *trial) networks(values []any, c circumstance) []network {
	var networks []network
	for _, value := range values {
		networks = append(networks, t.networkOf(t.config(value), value, c)...)
	}
	return networks
}

// refusing are the values of other fields for which changes are refused, as they change
// along. Who writes one of them keeps it.
func (t *trial) refusing(found []Change) []setting {
	var kept []setting
	seen := map[string]bool{}
	for _, change := range found {
		if change.Class != plugin.Forbidden || change.With == "" || seen[change.With] {
			continue
		}
		seen[change.With] = true
		path := strings.Split(change.With, ".")
		if field, err := t.root.at(t.plugin, path); err == nil {
			for _, value := range field.allowed() {
				kept = append(kept, setting{path, value})
			}
		}
	}
	return kept
}

// promises says whether a change may be of a class that is not known yet.
func (f *further) promises(before, after *network) bool {
	if bytes.Equal(before.applied.Config, after.applied.Config) {
		return false
	}
	class, _ := f.classOf(before, after)
	return class != "" && !f.known[class]
}

// contexts are what may be written beside the field: fields of its block, one, two or
// all of them, and each other field that has few values: first those that switch a block
// on or off, since the rest of the block is only of use with them.
func (t *trial) contexts() [][]setting {
	var switches, others [][]setting
	var block []setting
	t.root.leaves(nil, func(path []string, leaf *node) {
		if slices.Equal(path, t.path) {
			return
		}
		values := leaf.allowed()
		for _, value := range values {
			if context := []setting{{path, value}}; isMainSwitch(path) {
				switches = append(switches, context)
			} else {
				others = append(others, context)
			}
		}
		if likely := append(values, leaf.Examples...); len(likely) > 0 && t.isInBlockOf(path) {
			block = append(block, setting{path, likely[0]})
		}
	})
	var blocks [][]setting
	for i := range block {
		blocks = append(blocks, block[i:i+1])
	}
	for i := range block {
		for j := range i {
			blocks = append(blocks, []setting{block[j], block[i]})
		}
	}
	if len(block) > 2 {
		blocks = append(blocks, block)
	}
	return slices.Concat(blocks, switches, others)
}

// isInBlockOf says whether the field at path stands in the same block.
func (t *trial) isInBlockOf(path []string) bool {
	last := len(t.path) - 1
	return last > 0 && len(path) == len(t.path) && slices.Equal(path[:last], t.path[:last])
}

func written(settings []setting) map[string]any {
	config := map[string]any{}
	for _, each := range settings {
		plugin.Put(config, strings.Join(each.path, "."), each.value)
	}
	return config
}

// spoken names settings after a word such as with.
func spoken(word string, settings []setting) string {
	if len(settings) == 0 {
		return ""
	}
	names := make([]string, 0, len(settings))
	for _, each := range settings {
		names = append(names, fmt.Sprintf("%s: %v", strings.Join(each.path, "."), each.value))
	}
	return word + " " + strings.Join(names, ", ")
}
