// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// plan is what it takes to get from one network to another.
type plan struct {
	old, new work
	// files says that both come from files, so that messages must name them.
	files bool
	// invalid is what is wrong with the old network; nothing else is known then.
	invalid field.ErrorList
	// result is what comes of the new network.
	result pipeline.Result
	// fixed are values that cannot change in a running network, as they are there.
	fixed []string
	// unknown says that nobody can tell what the differences mean for traffic.
	unknown     bool
	differences []difference
}

// fix refuses changes of what no network can change while it runs, whatever its
// plugin says.
func (p *plan) fix(before, after *extensionsv1alpha1.NetworkSpec, author pipeline.Author) {
	paths := [...]string{"spec.type", "spec.podCIDR", "spec.serviceCIDR"}
	if author == pipeline.AuthorShoot {
		paths = [...]string{"spec.networking.type", "spec.networking.pods", "spec.networking.services"}
	}
	for i, each := range []struct{ before, after, because string }{
		{before.Type, after.Type, "the pods that run belong to the plugin that made their interfaces"},
		{before.EffectivePodCIDR(), after.EffectivePodCIDR(), "the pods that run have addresses of it"},
		{before.ServiceCIDR, after.ServiceCIDR, "the Services that there are have addresses of it"},
	} {
		path := paths[i]
		refused := slices.ContainsFunc(p.result.Errors, func(err *field.Error) bool { return err.Field == path })
		if each.before == each.after || each.before == "" || refused {
			continue
		}
		p.fixed = append(p.fixed, path+": "+each.before)
		p.result.Errors = append(p.result.Errors, &field.Error{
			Type: field.ErrorTypeForbidden, Field: path, BadValue: "",
			Detail: fmt.Sprintf("cannot change from %s to %s in a running network: %s", each.before, each.after, each.because),
		})
	}
	for _, change := range p.result.Changes {
		if change.Class == plugin.Forbidden {
			p.fixed = append(p.fixed, change.Path+": "+shortly(change.Before))
		}
	}
}

// warnOfWaiting tells that the operator asks the nodes first.
func (p *plan) warnOfWaiting(present []unstructured.Unstructured, hibernated bool) {
	wanted := p.result.Precondition
	if wanted == nil || hibernated || len(present) == 0 || len(p.differences) == 0 || !wanted.Concerns(present) {
		return
	}
	p.new.warnings = append(p.new.warnings, plugin.Warning{Field: "nodes", Message: fmt.Sprintf(
		"no object is written before each node has the condition %s=%s with the reason %s, because %s",
		wanted.Condition, wanted.Status, wanted.Reason, wanted.Because)})
}

// planOutcome is an exit status of plan's own.
type planOutcome int

// Error implements error: it is how a command ends with this status.
func (o planOutcome) Error() string { return fmt.Sprintf("the plan has the status %d", int(o)) }

func (p *plan) outcome() error {
	switch {
	case p.errors() > 0:
		return errInvalid
	case p.unknown || p.gravest() == plugin.Disruptive:
		return planOutcome(ExitDisruptive)
	case len(p.result.Changes)+len(p.differences) > 0:
		return planOutcome(ExitChanges)
	}
	return nil
}

func (p *plan) errors() int { return len(p.invalid) + len(p.result.Errors) }

// gravest is the class of the gravest change, empty where there is none.
func (p *plan) gravest() plugin.ChangeClass {
	if all := allowedChanges(&p.result); len(all) > 0 {
		return all[0].Class
	}
	return ""
}

// summary is the plan in one line.
func (p *plan) summary() string {
	switch {
	case len(p.invalid) > 0:
		return fmt.Sprintf("plan: none, since what it would begin with is invalid (%s)", count(len(p.invalid), "error"))
	case len(p.fixed) > 0:
		return fmt.Sprintf("plan: refused (%s); keep what cannot change in a running network (%s), or create a new cluster with it",
			count(p.errors(), "error"), listed(p.fixed))
	case p.errors() > 0:
		return fmt.Sprintf("plan: none, since the network is invalid (%s)", count(p.errors(), "error"))
	case len(p.result.Changes)+len(p.differences) == 0:
		return "plan: nothing changes"
	}
	text := "plan: " + count(len(p.result.Changes), "change")
	if gravest := p.gravest(); gravest != "" {
		text += ", the gravest " + string(gravest)
	}
	if p.unknown {
		text += ", and what replacing another's objects interrupts is not known"
	}
	return text + "; " + p.objectCounts()
}

func (p *plan) objectCounts() string {
	counts := map[string]int{}
	for _, each := range p.differences {
		counts[each.What]++
	}
	verb := func(what, plural string) string {
		if counts[what] == 1 {
			return what
		}
		return plural
	}
	return fmt.Sprintf("%s %s, %d %s, %d %s", count(counts[changes], "object"), verb(changes, "change"),
		counts[comes], verb(comes, "come"), counts[goes], verb(goes, "go"))
}

// print writes the plan for people.
func (p *plan) print(to io.Writer) error {
	report := &reporter{to: to, manyFiles: p.files}
	report.findings(&p.old, &pipeline.Result{Errors: p.invalid})
	report.findings(&p.new, &p.result)
	report.changes(&work{}, &p.result)
	said := report.wrote
	for i := range p.differences {
		if said {
			report.write("\n")
		}
		said = true
		report.write(painted(&p.differences[i], isTerminal(to)))
	}
	if len(p.differences) > 0 {
		report.write("\n")
	}
	report.print(p.summary())
	return report.err
}

// printJSON writes it for machines.
func (p *plan) printJSON(to io.Writer) error {
	content := struct {
		Network  string            `json:"network"`
		Errors   []string          `json:"errors,omitempty"`
		Warnings []string          `json:"warnings,omitempty"`
		Changes  []pipeline.Change `json:"changes,omitempty"`
		Objects  []difference      `json:"objects,omitempty"`
		Unknown  bool              `json:"unknown,omitempty"`
		Summary  string            `json:"summary"`
	}{
		Network: p.old.name, Changes: allowedChanges(&p.result), Objects: p.differences,
		Unknown: p.unknown, Summary: p.summary(),
	}
	for _, err := range slices.Concat(p.invalid, p.result.Errors) {
		content.Errors = append(content.Errors, told(err))
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

// painted is a diff as a terminal shows it, or as it is.
func painted(d *difference, colours bool) string {
	if !colours {
		return d.headers() + d.Diff
	}
	var out strings.Builder
	paint := func(colour, line string) { out.WriteString("\x1b[" + colour + "m" + line + "\x1b[0m\n") }
	for line := range strings.Lines(d.headers()) {
		paint("1", strings.TrimSuffix(line, "\n"))
	}
	for line := range strings.Lines(d.Diff) {
		line = strings.TrimSuffix(line, "\n")
		switch line[0] {
		case '-':
			paint("31", line)
		case '+':
			paint("32", line)
		case '@':
			paint("36", line)
		default:
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// isTerminal reports whether to is a terminal, whose user has not switched colours
// off by NO_COLOR.
func isTerminal(to io.Writer) bool {
	file, isFile := to.(*os.File)
	if !isFile || os.Getenv("NO_COLOR") != "" {
		return false
	}
	return term.IsTerminal(int(file.Fd()))
}
