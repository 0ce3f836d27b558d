// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/text"
	"github.com/trellis-network/trellis/internal/podtemplate"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

const takeoverHelp = `Say, before Trellis takes over the Networks of a seed from Gardener's extensions, what
that would change: which workloads replace their pods, and why; which objects come, and
which go. takeover --check only reads; docs/takeover.md has the steps of a take-over.

The namespace is that of -n or of the kubeconfig; -A stands for all. The user needs
the right to list Networks, and to get Clusters, ManagedResources and their Secrets.
takeover compares the objects as they were written for the shoot, and reads no shoot. It
counts what API servers fill in as written.

The operator's configuration decides about images and feature gates: name its file with
--config, or pods seem to restart for an image that the operator replaces.

Exit status:
  0  Trellis can take over each Network, or runs it already
  1  Trellis would refuse a Network
  2  the command could not run, or could not read a Network; it says what it read of the others`

// takeoverOptions are the flags of takeover.
type takeoverOptions struct {
	planOptions
	check, everywhere bool
}

func newTakeover(p *pipeline.Pipeline) *cobra.Command {
	var o takeoverOptions
	cmd := &cobra.Command{
		Use:   "takeover --check [NETWORK] [flags]",
		Short: "Say what taking over Networks from Gardener's extensions would change",
		Long:  takeoverHelp,
		Example: `  trellis takeover --check -A --config operator.yaml
  trellis takeover --check -n shoot--dev--mine -o json`,
		DisableFlagsInUseLine: true,
		Args:                  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.check {
				return errors.New("takeover needs --check, and then changes nothing; docs/takeover.md says how Trellis takes over")
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return o.run(cmd, p, name)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.check, "check", false, "say what would change, and change nothing")
	o.seed.addFlags(cmd, "`NAMESPACE` of a shoot's control plane in the seed")
	flags.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "check the Networks of all namespaces")
	flags.StringVar(&o.config, "config", "", "`FILE` with the operator's configuration, for its feature gates and images")
	addChoice(flags, &o.format, "output", "o", "`FORMAT`: text or json", "text", formatJSON)
	cmd.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	return cmd
}

func (o *takeoverOptions) run(cmd *cobra.Command, p *pipeline.Pipeline, name string) error {
	if err := o.in.checkOperatorFlags(cmd, p); err != nil {
		return err
	}
	if err := o.readConfig(cmd, p); err != nil {
		return err
	}
	in, err := o.seed.connect("")
	if err != nil {
		return &ioError{err}
	}
	if o.everywhere {
		in.namespace = metav1.NamespaceAll
	}
	networks, err := in.named(cmd.Context(), name)
	if err != nil {
		return &ioError{fmt.Errorf("%w (seed %s)", err, in.server)}
	}
	all := []takeover{}
	var unread []error
	for i := range networks {
		one, err := o.checkOne(cmd.Context(), in, p, &networks[i])
		if err != nil {
			unread = append(unread, fmt.Errorf("network %s/%s: %w (seed %s)", networks[i].Namespace, networks[i].Name, err, in.server))
			continue
		}
		all = append(all, one)
	}
	if o.format == formatJSON {
		document, err := json.MarshalIndent(all, "", "  ")
		if err == nil {
			err = written(cmd.OutOrStdout().Write(append(document, '\n')))
		}
		if err != nil {
			return err
		}
	} else if err := written(io.WriteString(cmd.OutOrStdout(), takeoverText(all))); err != nil {
		return err
	}
	if len(unread) > 0 {
		return &ioError{errors.Join(unread...)}
	}
	if slices.ContainsFunc(all, func(t takeover) bool { return len(t.Errors) > 0 }) {
		return errInvalid
	}
	return nil
}

// takeover is what taking over a Network changes.
type takeover struct {
	// Network is its namespace and name.
	Network string `json:"network"`
	Type    string `json:"type"`
	// Trellis reports that Trellis runs the Network already.
	Trellis  bool     `json:"trellis,omitempty"`
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Restarts are the workloads that replace their pods.
	Restarts []restart `json:"restarts,omitempty"`
	// Comes and Goes are the objects that are created and deleted, Changes how many are changed.
	Comes   []string `json:"comes,omitempty"`
	Goes    []string `json:"goes,omitempty"`
	Changes int      `json:"changes"`
}

// restart is a workload that replaces its pods.
type restart struct {
	Workload string `json:"workload"`
	// Because are the fields of the pod template that differ.
	Because []string `json:"because"`
}

// checkOne compares what is written for a Network with what Trellis would write.
func (o *takeoverOptions) checkOne(ctx context.Context, in *access, p *pipeline.Pipeline, n *extensionsv1alpha1.Network) (takeover, error) {
	found := takeover{Network: n.Namespace + "/" + n.Name, Type: n.Spec.Type}
	one := *in
	one.namespace = n.Namespace
	from, err := one.runningAs(ctx, p, o.in.environment(), n, nil)
	if err != nil {
		return found, err
	}
	if found.Trellis = from.applied != nil && !from.rewritten; found.Trellis {
		return found, nil
	}
	made, err := from.to(p, nil)
	if err != nil {
		return found, err
	}
	for _, err := range made.result.Errors {
		found.Errors = append(found.Errors, err.Error())
	}
	for _, warning := range append(slices.Clone(made.new.warnings), made.result.Warnings...) {
		found.Warnings = append(found.Warnings, warning.String())
	}
	found.Errors, found.Warnings = readable(found.Errors), readable(found.Warnings)
	for i := range made.differences {
		switch each := &made.differences[i]; each.What {
		case comes:
			found.Comes = append(found.Comes, each.String())
		case goes:
			found.Goes = append(found.Goes, each.String())
		default:
			found.Changes++
		}
	}
	after, err := locate(&made.result.Objects)
	if err == nil {
		found.Restarts, err = restarts(from.objects, after)
	}
	return found, err
}

// restarts returns the workloads that replace their pods. A CronJob does not.
func restarts(before, after []located) ([]restart, error) {
	former := map[identity]map[string]any{}
	for i := range before {
		former[before[i].identity()] = before[i].document
	}
	var found []restart
	for i := range after {
		id := after[i].identity()
		if former[id] == nil || id.Cluster != string(plugin.Shoot) || id.Kind == "CronJob.batch" {
			continue
		}
		then, err := podtemplate.Of(former[id])
		if err != nil || then == nil {
			continue // it is no workload, or one whose template cannot be read, which the API server refuses
		}
		now, err := podtemplate.Of(after[i].document)
		if err != nil {
			return nil, err
		}
		because, err := podtemplate.Differences(then, now)
		if err != nil {
			return nil, err
		}
		if len(because) > 0 {
			one := difference{identity: id}
			found = append(found, restart{one.String(), because})
		}
	}
	return found, nil
}

// becauseAtMost is how many reasons the text names of one restart.
const becauseAtMost = 6

// takeoverText says in words what would change.
func takeoverText(all []takeover) string {
	var out strings.Builder
	line := func(format string, values ...any) {
		out.WriteString(text.OneLine(fmt.Sprintf(format, values...)) + "\n")
	}
	taken, ready, refused := 0, 0, 0
	for i := range all {
		one := &all[i]
		switch {
		case one.Trellis:
			taken++
			line("network %s (%s): Trellis runs it already", one.Network, one.Type)
			continue
		case len(one.Errors) > 0:
			refused++
			line("network %s (%s): Trellis would refuse it", one.Network, one.Type)
		default:
			ready++
			line("network %s (%s): %s", one.Network, one.Type, one.counts())
		}
		for _, each := range one.Errors {
			line("  error: %s", each)
		}
		for _, each := range one.Warnings {
			line("  warning: %s", each)
		}
		for _, each := range one.Restarts {
			because := each.Because
			more := ""
			if len(because) > becauseAtMost {
				more = fmt.Sprintf(" and %d more", len(because)-becauseAtMost)
				because = because[:becauseAtMost]
			}
			line("  restarts %s, because these differ: %s%s", each.Workload, strings.Join(because, ", "), more)
		}
		for _, each := range one.Comes {
			line("  adds %s", each)
		}
		for _, each := range one.Goes {
			line("  deletes %s", each)
		}
	}
	line("%s: Trellis can take over %d, runs %d already, would refuse %d", count(len(all), "network"), ready, taken, refused)
	return out.String()
}

// counts sums up what would change.
func (t *takeover) counts() string {
	return fmt.Sprintf("%s to restart; %s to add, %d to delete, %d to change",
		count(len(t.Restarts), "workload"), count(len(t.Comes), "object"), len(t.Goes), t.Changes)
}
