// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/overview"
	"github.com/trellis-network/trellis/cli/internal/text"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/pipeline"
)

const statusHelp = `Show how the Networks of a seed are: whether the present spec is applied, the last
operation, the components and their roll-out, how packets travel between nodes and who
makes the routes, and whether pods reach pods, nodes, Services and DNS.

The namespace is that of -n or of the kubeconfig; -A stands for all. The user needs
the right to list Networks, and with --watch to watch them. status shows what the
operator has written into the Networks; it reads no shoot.

With --watch, status stays and follows changes until Ctrl-C, also if there is no
Network yet. On a terminal it draws the Networks anew; otherwise it prints each
Network that has changed, with -o json as one line a Network. A Network that is
gone is printed as such.

Exit status:
  0  each Network is healthy: the present spec is applied, and all conditions are True
  1  a Network is not
  2  the command could not run`

// statusOptions are the flags of status.
type statusOptions struct {
	seed       seedFlags
	everywhere bool
	watch      bool
	format     string
}

func newStatus(p *pipeline.Pipeline) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [NETWORK] [flags]",
		Short: "Show how the Networks of a seed are",
		Long:  statusHelp,
		Example: `  trellis status -A
  trellis status -n shoot--dev--mine --watch
  trellis status mine -n shoot--dev--mine -o json`,
		DisableFlagsInUseLine: true,
		Args:                  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return o.run(cmd, p, name)
		},
	}
	o.seed.addFlags(cmd, "`NAMESPACE` of a shoot's control plane in the seed")
	cmd.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "show the Networks of all namespaces")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "follow changes until Ctrl-C")
	addChoice(cmd.Flags(), &o.format, "output", "o", "`FORMAT`: text, json or yaml", "text", formatJSON, formatYAML)
	cmd.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	return cmd
}

func (o *statusOptions) run(cmd *cobra.Command, p *pipeline.Pipeline, name string) error {
	in, err := o.seed.connect("")
	if err != nil {
		return &ioError{err}
	}
	if o.everywhere {
		in.namespace = metav1.NamespaceAll
	}
	found, err := in.named(cmd.Context(), name)
	if none := (*noNetwork)(nil); o.watch && name == "" && errors.As(err, &none) {
		_, err = fmt.Fprintln(cmd.ErrOrStderr(), text.Printable(err.Error()+"; status waits for one"))
	}
	if err != nil {
		return &ioError{fmt.Errorf("%w (seed %s)", err, in.server)}
	}
	if o.watch {
		w := &statusWatch{statusOptions: o, in: in, pipeline: p, name: name, to: cmd.OutOrStdout(), problems: cmd.ErrOrStderr()}
		return w.run(cmd.Context())
	}
	told := make([]overview.Network, 0, len(found))
	for i := range found {
		told = append(told, overview.Of(&found[i], p))
	}
	shown, err := o.shown(told, terminalOf(cmd.OutOrStdout()).width, time.Now())
	if err != nil {
		return err
	}
	if err := written(io.WriteString(cmd.OutOrStdout(), shown)); err != nil {
		return err
	}
	if slices.ContainsFunc(told, func(n overview.Network) bool { return n.State != overview.Healthy }) {
		return errInvalid
	}
	return nil
}

// named returns the Networks in the namespace, those of a name if it is not empty. It fails
// if there is none.
func (in *access) named(ctx context.Context, name string) ([]extensionsv1alpha1.Network, error) {
	all, err := in.networks(ctx)
	if err != nil {
		return nil, err
	}
	found := slices.Clone(all)
	if name != "" {
		found = slices.DeleteFunc(found, func(n extensionsv1alpha1.Network) bool { return n.Name != name })
	}
	if len(found) > 0 {
		slices.SortFunc(found, func(a, b extensionsv1alpha1.Network) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
		return found, nil
	}
	return nil, in.none(ctx, name, all)
}

// noNetwork is the error that no Network was found.
type noNetwork struct{ message string }

func (e *noNetwork) Error() string { return e.message }

// none returns an error that says where Networks are, since none was found.
func (in *access) none(ctx context.Context, name string, all []extensionsv1alpha1.Network) error {
	none := func(format string, values ...any) error { return &noNetwork{fmt.Sprintf(format, values...)} }
	what, where := "no Network", "namespace "+in.namespace
	if name != "" {
		what = fmt.Sprintf("no Network %q", fielderror.Abbreviate(name))
	}
	if in.namespace == metav1.NamespaceAll {
		where = "the seed"
	}
	var names, elsewhere []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	if near := fielderror.Nearest(name, names); near != "" {
		return none("%s has %s; did you mean %s?", where, what, near)
	}
	if len(names) > 0 {
		return none("%s has %s, but %s", where, what, listed(names))
	}
	everywhere := *in
	everywhere.namespace = metav1.NamespaceAll
	if others, err := everywhere.networks(ctx); err == nil { // a user without the right is told no more
		for i := range others {
			if name == "" || name == others[i].Name {
				elsewhere = append(elsewhere, others[i].Namespace)
			}
		}
	}
	switch {
	case in.namespace == metav1.NamespaceAll:
		return none("%s has %s", where, what)
	case len(elsewhere) > 0:
		return none("%s has %s; there is one in %s: pass -n", where, what, listed(elsewhere))
	}
	return none("%s has %s; name the namespace of a shoot's control plane with -n, or pass -A", where, what)
}

// shown returns Networks as users want to see them. width is that of the terminal, 0 for none.
func (o *statusOptions) shown(networks []overview.Network, width int, now time.Time) (string, error) {
	if o.format != "text" {
		return encoded(map[string]any{"networks": networks}, o.format)
	}
	var out strings.Builder
	for i := range networks {
		if i > 0 {
			out.WriteByte('\n')
		}
		for _, line := range networks[i].Tree(now).Lines(width) {
			out.WriteString(line + "\n")
		}
	}
	return out.String(), nil
}

// encoded returns a value as JSON or YAML that controls no terminal. In JSON the characters are
// escaped; YAML has the escape sequences themselves.
func encoded(value any, format string) (string, error) {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return "", err
	}
	if format == formatYAML {
		raw, err = yaml.JSONToYAML(raw)
		return text.Printable(string(raw)), err
	}
	return string(text.JSON(raw)) + "\n", nil
}
