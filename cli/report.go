// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/cli/internal/text"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// maxProblems is the number of lines of one kind at most.
const maxProblems = 50

// reporter writes findings for users, one a line. It keeps the first failure to write
// in err.
type reporter struct {
	to        io.Writer
	manyFiles bool
	wrote     bool // anything yet
	err       error
}

func (r *reporter) print(line string) { r.write(text.OneLine(line) + "\n") }

// write writes lines as they are.
func (r *reporter) write(lines string) {
	if r.err != nil {
		return
	}
	r.wrote = true
	if _, err := io.WriteString(r.to, lines); err != nil {
		r.err = &ioError{fmt.Errorf("write the report: %w", err)}
	}
}

func (r *reporter) line(severity, label, message string) {
	r.print(severity + ": " + labelled(label, message))
}

// refuse reports an error in the input, and returns what ends the command.
func (r *reporter) refuse(label, message string) error {
	r.line("error", label, message)
	return cmp.Or(r.err, errInvalid)
}

func labelled(label, message string) string {
	if label == "" {
		return message
	}
	return label + ": " + message
}

// problems reports the errors of the input.
func (r *reporter) problems(found []manifest.Problem) {
	var messages []string
	for _, problem := range found {
		// An error without a field names the file and the number of the document.
		_, isField := problem.Err.(*field.Error)
		label := problem.Source.Label(r.manyFiles || !isField, !isField)
		messages = append(messages, labelled(label, problem.Err.Error()))
	}
	r.lines("error", "", messages)
}

// findings reports the errors and warnings of a network.
func (r *reporter) findings(w *candidate, result *pipeline.Result) {
	var errs, warnings []string
	for _, err := range result.Errors {
		errs = append(errs, w.inItsWords(err.Error()))
	}
	for _, warning := range warningsOf(w, result) {
		warnings = append(warnings, w.inItsWords(warning.String()))
	}
	label := w.source.Label(r.manyFiles, false)
	r.lines("error", label, errs)
	r.lines("warning", label, warnings)
}

func (r *reporter) lines(severity, label string, messages []string) {
	for _, message := range readable(messages) {
		r.line(severity, label, message)
	}
}

// readable returns the first maxProblems messages, and the number of the others.
func readable(messages []string) []string {
	if more := len(messages) - maxProblems; more > 0 {
		return append(messages[:maxProblems:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return messages
}

// verdict reports in one line whether a network is valid.
func (r *reporter) verdict(w *candidate, result *pipeline.Result) {
	verdict, details := "valid", []string{cmp.Or(w.request.Spec.Type, "no type")}
	if n := len(result.Errors); n > 0 {
		verdict = "invalid"
		details = append(details, count(n, "error"))
	}
	if n := len(warningsOf(w, result)); n > 0 {
		details = append(details, count(n, "warning"))
	}
	if n := len(allowedChanges(result)); n > 0 {
		details = append(details, count(n, "change"))
	}
	r.print(fmt.Sprintf("%s: %s (%s)", w.name, verdict, strings.Join(details, ", ")))
}

// stated reports what trellis-admission adds to a Shoot when a user creates or updates it.
func (r *reporter) stated(w *candidate) {
	if w.stated != "" {
		r.print("trellis-admission states: " + w.stated)
	}
}

// dataPath reports in one line how packets travel in a valid network.
func (r *reporter) dataPath(result *pipeline.Result) {
	if result.DataPath != "" && len(result.Errors) == 0 {
		r.print("packets: " + result.DataPath)
	}
}

// changes reports the values that differ from those that were applied last. It leaves
// out forbidden changes, which are errors.
func (r *reporter) changes(w *candidate, result *pipeline.Result) {
	var lines []string
	for _, change := range allowedChanges(result) {
		lines = append(lines, fmt.Sprintf("%s: %s, from %s to %s: %s", change.Path, change.Class,
			shown(fielderror.Brief(change.Before)), shown(fielderror.Brief(change.After)), cmp.Or(change.Reason, "the plugin states no reason")))
	}
	r.lines("change", w.source.Label(r.manyFiles, false), lines)
}

// steps reports the steps in which the changes are made, and what each waits for.
func (r *reporter) steps(result *pipeline.Result) {
	if !result.Transition.IsNeeded() {
		return
	}
	var lines []string
	for i, step := range result.Transition.Steps {
		lines = append(lines, fmt.Sprintf("%d. %s: begins once %s", i+1, step.Name, step.WaitsFor))
	}
	r.lines("step", "", lines)
}

var gravestFirst = []plugin.ChangeClass{plugin.Disruptive, plugin.Rolling, plugin.Safe}

// allowedChanges returns the changes that are not forbidden, disruptive ones first.
func allowedChanges(result *pipeline.Result) []pipeline.Change {
	var allowed []pipeline.Change
	for _, class := range gravestFirst {
		for _, change := range result.Changes {
			if change.Class == class {
				allowed = append(allowed, change)
			}
		}
	}
	return allowed
}

// origins reports each value in force with its origin.
func (r *reporter) origins(result *pipeline.Result) {
	if len(result.Values) == 0 {
		return
	}
	var table strings.Builder
	aligned := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	fmt.Fprintln(aligned, "PATH\tVALUE\tORIGIN")
	for _, path := range slices.Sorted(maps.Keys(result.Values)) {
		fmt.Fprintf(aligned, "%s\t%s\t%s\n", path, text.OneLine(shown(result.Values[path])), result.Origins[path])
	}
	_ = aligned.Flush() // to memory
	for line := range strings.Lines(table.String()) {
		r.print(strings.TrimRight(line, " \n"))
	}
}

func warningsOf(w *candidate, result *pipeline.Result) []plugin.Warning {
	return slices.Concat(w.warnings, result.Warnings)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// listed names the first few of many names.
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
