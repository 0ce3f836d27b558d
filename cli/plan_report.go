// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// plan is the difference between two networks.
type plan struct {
	old, new candidate
	// files reports whether both come from files, so that messages must name the file.
	files bool
	// invalid are the errors of the old network. If there are any, nothing else is set.
	invalid field.ErrorList
	// result is the new network, built.
	result pipeline.Result
	// fixed are the present values of fields that cannot change in a running network.
	fixed []string
	// unknown reports whether the effect of the differences on traffic is unknown.
	unknown     bool
	differences []difference
}

// refuseFixed refuses changes that no running network can make, and notes all that is to be kept.
func (p *plan) refuseFixed(before *pipeline.Accepted, request *pipeline.Request) {
	p.fixed = p.result.RefuseFixed(before, request)
	for _, change := range p.result.Changes {
		if change.Class == plugin.Forbidden {
			p.fixed = append(p.fixed, change.Path+": "+shown(fielderror.Brief(change.Before)))
		}
	}
}

// warnOfWaiting warns if the operator waits for the nodes.
func (p *plan) warnOfWaiting(present []unstructured.Unstructured) error {
	if p.result.AwaitsRoutes && len(p.differences) > 0 {
		p.new.warnings = append(p.new.warnings, plugin.Warning{Field: "nodes", Message: "the operator changes nothing until all nodes have their routes, which the condition " +
			extensionsv1alpha1.PodRoutesCreated + " of the Network tells, because pods talk through them then"})
	}
	wanted, request := p.result.Precondition, &p.new.request
	if wanted == nil || request.Facts.Hibernated || len(present) == 0 || len(p.differences) == 0 {
		return nil
	}
	needed, err := wanted.IsNeeded(request.Spec.Type, present)
	if err != nil || !needed {
		return err
	}
	p.new.warnings = append(p.new.warnings, plugin.Warning{Field: "nodes", Message: fmt.Sprintf(
		"the operator changes nothing until each node has the condition %s=%s with reason %s, because %s",
		wanted.Condition, wanted.Status, wanted.Reason, wanted.Explanation)})
	return nil
}

// outcome returns how the command ends.
func (p *plan) outcome() error {
	isDisruptive := func(c pipeline.Change) bool { return c.Class == plugin.Disruptive }
	switch {
	case p.errors() > 0:
		return errInvalid
	case p.unknown || !p.result.Transition.IsNeeded() && slices.ContainsFunc(p.result.Changes, isDisruptive):
		return exitStatus(ExitDisruptive)
	case len(p.result.Changes)+len(p.differences) > 0:
		return exitStatus(ExitChanges)
	}
	return nil
}

func (p *plan) errors() int { return len(p.invalid) + len(p.result.Errors) }

// summary returns the plan in one line.
func (p *plan) summary() string {
	switch {
	case len(p.invalid) > 0:
		return fmt.Sprintf("no plan: the old network is invalid (%s)", count(len(p.invalid), "error"))
	case len(p.fixed) > 0:
		return fmt.Sprintf("refused (%s): keep %s, or create a new cluster", count(p.errors(), "error"), listed(p.fixed))
	case p.errors() > 0:
		return fmt.Sprintf("no plan: the network is invalid (%s)", count(p.errors(), "error"))
	case len(p.result.Changes)+len(p.differences) == 0:
		return "no changes"
	}
	var parts []string
	if n := len(p.result.Changes); n > 0 {
		classes := classCounts(p.result.Changes)
		if way := p.result.Transition; way.IsNeeded() {
			classes += fmt.Sprintf("; in %s, none of which is disruptive", count(len(way.Steps), "step"))
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", count(n, "change"), classes))
	}
	parts = append(parts, objectCounts(p.differences)...)
	text := strings.Join(parts, ", ")
	if p.unknown {
		text += "; the effect on traffic is unknown, since Trellis did not write the present objects"
	}
	return text
}

// classCounts returns "safe" if all changes are safe, and otherwise a number for each
// class, such as "1 disruptive, 2 safe".
func classCounts(changes []pipeline.Change) string {
	number := map[plugin.ChangeClass]int{}
	for _, change := range changes {
		number[change.Class]++
	}
	if len(number) == 1 {
		return string(changes[0].Class)
	}
	var counts []string
	for _, class := range gravestFirst {
		if n := number[class]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, class))
		}
	}
	return strings.Join(counts, ", ")
}

// objectCounts returns how many objects a plan changes, adds and deletes.
func objectCounts(differences []difference) []string {
	number := map[string]int{}
	for i := range differences {
		number[differences[i].What]++
	}
	var counts []string
	for _, each := range []struct{ what, verb string }{{changes, "change"}, {comes, "add"}, {goes, "delete"}} {
		switch n := number[each.what]; {
		case n == 0:
		case len(counts) == 0:
			counts = append(counts, count(n, "object")+" to "+each.verb)
		default:
			counts = append(counts, fmt.Sprintf("%d to %s", n, each.verb))
		}
	}
	return counts
}

// print writes the plan as text.
func (p *plan) print(to io.Writer) error {
	report := &reporter{to: to, manyFiles: p.files}
	report.findings(&p.old, &pipeline.Result{Errors: p.invalid})
	report.findings(&p.new, &p.result)
	report.changes(&candidate{}, &p.result)
	report.steps(&p.result)
	for i := range p.differences {
		if report.wrote {
			report.write("\n")
		}
		report.write(painted(&p.differences[i], isTerminal(to)))
	}
	if len(p.differences) > 0 {
		report.write("\n")
	}
	report.print(p.summary())
	return report.err
}

// printJSON writes the plan as JSON.
func (p *plan) printJSON(to io.Writer) error {
	content := struct {
		Network  string            `json:"network"`
		Errors   []string          `json:"errors,omitempty"`
		Warnings []string          `json:"warnings,omitempty"`
		Changes  []pipeline.Change `json:"changes,omitempty"`
		// Transition has the steps in which the changes are made.
		Transition *pipeline.Transition `json:"transition,omitempty"`

		Objects []difference `json:"objects,omitempty"`
		Unknown bool         `json:"unknown,omitempty"`
		Summary string       `json:"summary"`
	}{
		Network: p.old.name, Changes: allowedChanges(&p.result), Objects: p.differences,
		Unknown: p.unknown, Summary: p.summary(),
	}
	if p.result.Transition.IsNeeded() {
		content.Transition = p.result.Transition
	}
	for _, err := range slices.Concat(p.invalid, p.result.Errors) {
		content.Errors = append(content.Errors, err.Error())
	}
	for _, warning := range append(slices.Clone(p.old.warnings), warningsOf(&p.new, &p.result)...) {
		content.Warnings = append(content.Warnings, warning.String())
	}
	content.Errors, content.Warnings = readable(content.Errors), readable(content.Warnings)
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return written(to.Write(append(text, '\n')))
}

// painted returns a diff with its headers, in colours if wanted.
func painted(d *difference, colours bool) string {
	text := d.headers() + d.Diff
	if !colours {
		return text
	}
	var out strings.Builder
	paint := map[byte]string{'-': "\x1b[31m", '+': "\x1b[32m", '@': "\x1b[36m"}
	for line := range strings.Lines(text) {
		if colour, has := paint[line[0]]; has {
			line = colour + strings.TrimSuffix(line, "\n") + "\x1b[0m\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
