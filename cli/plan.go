// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/internal/imagevector"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

const planHelp = `Show the changes between two networks: each changed value of the configuration and
each changed fact of the Shoot with its class and reason, disruptive changes first,
and a unified diff of each object. plan hides the values of Secrets, and prints
everything to standard output.

Classes of changes:
  safe        no effect on traffic
  rolling     workloads restart node by node while traffic continues
  disruptive  traffic is interrupted
  forbidden   the running network would break; the operator refuses the change

OLD and NEW are files with one network each, - for standard input: a Network, a
Shoot, both, or a NetworkConfig, as for render. Values that NEW lacks come from OLD: the
Shoot, if NEW is a Network; the cluster, if NEW is a NetworkConfig; the status; and the
ranges that Gardener chose. What is wrong with OLD, and stays so, is only a
warning if OLD's Shoot has a uid, or a status tells that OLD was applied.
OLD and NEW must be of one cluster: plan warns about different names, and
refuses different uids.

With --live, plan reads OLD from the seed: the Network with the config that was
applied last, the Shoot in its Cluster, and the objects in its ManagedResources.
Without NEW, plan shows what this version of Trellis would change, as an upgrade of
the operator does. The namespace is that of -n, of NEW, or of the kubeconfig. The
user needs the right to list Networks, and to get Clusters, ManagedResources and their
Secrets.

Some changes are made in steps, each of which begins once pods talk with the one before.
plan lists them with what each waits for. The annotation trellis.network/transition:
at-once on the Network, or on its Shoot, has them made at once.

Objects can change without a change of the configuration, for example with a new
image; such changes have no class. If Trellis did not write the present objects, their
effect on traffic is unknown and counts as disruptive.

Exit status:
  0  no changes
  1  OLD or NEW is invalid, or a change is forbidden
  2  changes, none of which is known to interrupt traffic as it is made
  3  changes that interrupt traffic, or may do so
  4  the command could not run (other commands exit with 2)`

// planOptions are the flags of plan.
type planOptions struct {
	in     input
	config string
	live   bool
	seed   seedFlags
	format string
}

// planName is the name of the command.
const planName = "plan"

func newPlan(p *pipeline.Pipeline) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   planName + " {OLD NEW | --live [NEW]} [flags]",
		Short: "Show what a change of a network does",
		Long:  planHelp,
		Example: `  trellis plan old.yaml new.yaml
  git show HEAD:shoot.yaml | trellis plan - shoot.yaml
  trellis plan --live -n shoot--dev--mine new.yaml
  trellis plan --live -n shoot--dev--mine -o json`,
		DisableFlagsInUseLine: true,
		Args:                  o.checkArguments,
		RunE:                  func(cmd *cobra.Command, args []string) error { return o.run(cmd, p, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.live, "live", false, "read OLD from a seed")
	o.seed.addFlags(cmd, "`NAMESPACE` of the shoot's control plane in the seed")
	o.in.addOperatorFlags(cmd, p)
	flags.StringVar(&o.config, "config", "", "`FILE` with the operator's configuration, for its feature gates and images; $"+imagevector.Variable+"\nnames another with images, as for the operator")
	addChoice(flags, &o.format, "output", "o", "`FORMAT`: text or json", "text", formatJSON)
	cmd.MarkFlagsMutuallyExclusive("config", "feature-gates")
	return cmd
}

func (o *planOptions) checkArguments(cmd *cobra.Command, args []string) error {
	switch {
	case o.live && len(args) > 1:
		return errors.New("--live takes no file but NEW")
	case !o.live && len(args) != 2:
		return errors.New("requires the files OLD and NEW, or --live")
	case !o.live && args[0] == stdin && args[1] == stdin:
		return errStdinTwice
	}
	for _, name := range []string{"kubeconfig", "context", "namespace"} {
		if !o.live && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s requires --live", name)
		}
	}
	for _, name := range append([]string{"mode", "api-server"}, o.in.cluster.names...) {
		if o.live && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s cannot be used with --live, which reads it from the seed", name)
		}
	}
	return nil
}

func (o *planOptions) run(cmd *cobra.Command, p *pipeline.Pipeline, args []string) error {
	if err := o.in.checkOperatorFlags(cmd, p); err != nil {
		return err
	}
	if err := o.readConfig(cmd, p); err != nil {
		return err
	}
	compare := o.planFiles
	if o.live {
		compare = o.planLive
	}
	made, err := compare(cmd, p, args)
	if err != nil {
		return err
	}
	report := made.print
	if o.format == formatJSON {
		report = made.printJSON
	}
	if err := report(cmd.OutOrStdout()); err != nil {
		return err
	}
	return made.outcome()
}

// readConfig takes the feature gates and images from the operator's configuration, and further images
// from where an operator with the same environment has them.
func (o *planOptions) readConfig(cmd *cobra.Command, p *pipeline.Pipeline) error {
	if o.config == "" {
		return nil
	}
	_, document, err := contents(cmd, o.config)
	if err != nil {
		return err
	}
	config, err := configv1alpha1.Load(document)
	if err == nil {
		o.in.gates, err = gatesOf(p, "featureGates", config.FeatureGates)
	}
	if err == nil {
		o.in.images, err = imagevector.Resolve(p.ImageTags(), field.NewPath("images"), config.Images)
	}
	if err != nil {
		return &ioError{fmt.Errorf("read %s: %w", o.config, err)}
	}
	return nil
}

// planFiles compares the networks in two files.
func (o *planOptions) planFiles(cmd *cobra.Command, p *pipeline.Pipeline, names []string) (*plan, error) {
	report := o.reporter(cmd)
	old, err := o.readOne(cmd, p, names[0], report)
	if err != nil {
		return nil, err
	}
	next, err := o.readOne(cmd, p, names[1], report)
	if err != nil {
		return nil, err
	}
	differs := mismatchOf(old, next, old.Source.File)
	if differs != nil && differs.Field == uidPath {
		return nil, report.refuse(next.Source.Label(true, false), differs.Error()+ofOneCluster)
	}
	first := o.in.candidateFor(old, p)
	deployed(&first.request, old.Network)
	if first.request.Applied == nil {
		if first.request.Runs {
			first.request.TakenOver = first.request.Accepted()
		}
		first.request.Runs = true
	}
	built := p.Build(first.request)
	if len(built.Errors) > 0 {
		return &plan{old: *first, invalid: built.Errors, files: true}, nil
	}
	if err := o.in.cluster.check(cmd, []*manifest.Subject{old, next}); err != nil {
		return nil, err
	}
	from := &running{old: *first, environment: o.in.environment(), network: old.Network, shoot: old.Shoot, applied: built.Applied()}
	if from.objects, err = locate(&built.Objects); err != nil {
		return nil, err
	}
	for _, each := range from.objects {
		if each.cluster == string(plugin.Shoot) {
			from.present = append(from.present, unstructured.Unstructured{Object: each.document})
		}
	}
	from.request = func(n *extensionsv1alpha1.Network, shoot *corev1beta1.Shoot) (pipeline.Request, error) {
		return p.NewRequest(n, shoot, o.in.environment()), nil
	}
	made, err := from.to(p, next)
	if err != nil {
		return nil, err
	}
	made.files = true
	if differs != nil {
		made.new.warnings = append(made.new.warnings, plugin.Warning{
			Field: differs.Field, Message: differs.Detail + "; plan compares them as one network",
		})
	}
	return made, nil
}

// reporter returns a reporter for errors in files.
func (o *planOptions) reporter(cmd *cobra.Command) *reporter {
	report := &reporter{to: cmd.OutOrStdout(), manyFiles: true}
	if o.format == formatJSON {
		report.to = cmd.ErrOrStderr()
	}
	return report
}

// readOne reads the one network in a file.
func (o *planOptions) readOne(cmd *cobra.Command, p *pipeline.Pipeline, name string, report *reporter) (*manifest.Subject, error) {
	subjects, problems, err := o.in.read(cmd, p, []string{name})
	if err != nil {
		return nil, err
	}
	return single(subjects, problems, report)
}
