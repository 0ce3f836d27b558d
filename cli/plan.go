// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/pipeline"
)

// formatText is the format that is for people.
const formatText = "text"

const planHelp = `Say what it takes to get from one network to another: each value of the
configuration that changes, and what changes in the Shoot beside it, such as
kube-proxy, with the class of the change and the reason for it, the gravest first;
then each object that differs, comes or goes, as a unified diff of its YAML. Values
in Secrets are not shown. Everything is printed to standard output.

A change is safe, rolling (workloads restart node after node, and traffic goes on),
disruptive (traffic is interrupted), or forbidden (the network would not survive
it; the operator refuses it, and so does plan).

OLD and NEW are files with one network each, - for standard input: a Network, a
Shoot, or both, as for render. What NEW does not say of the cluster is as in OLD:
the Shoot if NEW is a Network, the status, and ranges that somebody else chose.
Both are of one cluster; names that differ are warned of, and uids refused.

With --live, the network that runs takes the place of OLD: the Network in the
seed with what was applied last, the Shoot in its Cluster, and the objects in its
ManagedResources, whoever wrote them. Without NEW, plan tells what this version of
Trellis would make of it now, which is what an upgrade of the operator changes.
The namespace is that of -n, else the one that NEW says, else the kubeconfig's.
It takes the right to list Networks and to get Clusters, ManagedResources and
their Secrets there.

Objects may change although no value of the configuration does, such as by new
images; that has no class. What another than Trellis wrote has no known
configuration: if its objects differ, that is taken as disruptive.

Exit status:
  0  nothing changes
  1  OLD or NEW is invalid, or a change is forbidden
  2  something changes, and nothing that is known to interrupt traffic
  3  something changes that interrupts traffic, or may do so
  4  the command could not run (other commands say this with 2)`

// planOptions are the flags of plan.
type planOptions struct {
	in     input
	config string
	live   bool
	seed   seedFlags
	format choice
}

// planName is how the command is called.
const planName = "plan"

func newPlan(p *pipeline.Pipeline) *cobra.Command {
	o := planOptions{format: choice{value: formatText, allowed: []string{formatText, formatJSON}}}
	cmd := &cobra.Command{
		Use:   planName + " {OLD NEW | --live [NEW]} [flags]",
		Short: "Say what a change of a network does, before it is made",
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
	flags.BoolVar(&o.live, "live", false, "begin with the network that runs in a seed")
	o.seed.addTo(flags)
	o.in.addOperatorFlags(cmd, p)
	flags.StringVar(&o.config, "config", "", "`FILE` with the operator's configuration, for its feature gates and images")
	flags.VarP(&o.format, "output", "o", "`FORMAT`: text or json")
	cmd.MarkFlagsMutuallyExclusive("config", "feature-gates")
	return cmd
}

func (o *planOptions) checkArguments(cmd *cobra.Command, args []string) error {
	switch {
	case o.live && len(args) > 1:
		return errors.New("--live takes the place of OLD; name NEW alone, or nothing")
	case !o.live && len(args) != 2:
		return errors.New("name two files, OLD and NEW, or plan for the network that runs with --live")
	case !o.live && args[0] == stdin && args[1] == stdin:
		return errStdinTwice
	}
	for _, name := range []string{"kubeconfig", "context", "namespace"} {
		if !o.live && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for --live", name)
		}
	}
	for _, name := range []string{"mode", "api-server"} {
		if o.live && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is not for --live; the seed tells", name)
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
	begin := o.planFiles
	if o.live {
		begin = o.planLive
	}
	made, err := begin(cmd, p, args)
	if err != nil {
		return err
	}
	report := made.print
	if o.format.value == formatJSON {
		report = made.printJSON
	}
	if err := report(cmd.OutOrStdout()); err != nil {
		return err
	}
	return made.outcome()
}

// readConfig takes from the operator's configuration what matters to networks.
func (o *planOptions) readConfig(cmd *cobra.Command, p *pipeline.Pipeline) error {
	if o.config == "" {
		return nil
	}
	return open(cmd, o.config, func(_ string, r io.Reader) error {
		document, err := io.ReadAll(io.LimitReader(r, maxRequest))
		if err != nil {
			return err
		}
		config, err := configv1alpha1.Load(document)
		if err != nil {
			return err
		}
		resolved, errs := p.ResolveFeatureGates(field.NewPath("featureGates"), config.FeatureGates)
		o.in.gates, o.in.images = resolved, config.Images
		return errs.ToAggregate()
	})
}

// planFiles plans the way from one file to another.
func (o *planOptions) planFiles(cmd *cobra.Command, p *pipeline.Pipeline, names []string) (*plan, error) {
	report := o.reporter(cmd)
	old, err := readOne(cmd, names[0], report)
	if err != nil {
		return nil, err
	}
	next, err := readOne(cmd, names[1], report)
	if err != nil {
		return nil, err
	}
	differs := mismatchOf(old, next)
	if differs != nil && differs.isCertain() {
		report.line("error", next.Source.Label(true, false), differs.refuse(old.Source.File+" has").Error())
		return nil, cmp.Or(report.err, errInvalid)
	}
	work := o.in.workFor(old, p)
	if work.request.Applied == nil && runs(old) {
		work.request.TakenOver = work.request.Accepted()
	}
	built := p.Build(work.request)
	if len(built.Errors) > 0 {
		return &plan{old: work, invalid: built.Errors, files: true}, nil
	}
	from := &running{work: work, network: old.Network, shoot: old.Shoot, applied: built.Applied()}
	if from.objects, err = locate(&built.Objects); err != nil {
		return nil, err
	}
	for _, each := range from.objects {
		if each.cluster == targetShoot {
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
		made.new.warnings = append(made.new.warnings, differs.warning(old.Source.File+" has"))
	}
	return made, nil
}

// runs says whether somebody has carried a network out as it is, by what their status
// says. Then it is there, whatever Trellis would say of it today.
func runs(one *manifest.Subject) bool {
	last := one.Network.Status.LastOperation
	switch {
	case last != nil && one.Network.Status.ObservedGeneration != one.Network.Generation:
		return false
	case last == nil && one.Shoot != nil:
		last = one.Shoot.Status.LastOperation
	}
	return last != nil && last.State == corev1beta1.LastOperationStateSucceeded
}

// reporter reports what is wrong with files as such.
func (o *planOptions) reporter(cmd *cobra.Command) *reporter {
	report := &reporter{to: cmd.OutOrStdout(), manyFiles: true}
	if o.format.value == formatJSON {
		report.to = cmd.ErrOrStderr()
	}
	return report
}

// readOne reads the one network in a file.
func readOne(cmd *cobra.Command, name string, report *reporter) (*manifest.Subject, error) {
	subjects, problems, err := read(cmd, []string{name})
	if err != nil {
		return nil, err
	}
	works := make([]work, 0, len(subjects))
	for i := range subjects {
		works = append(works, work{name: subjects[i].String()})
	}
	if _, err := single(works, problems, report); err != nil {
		return nil, cmp.Or(report.err, err)
	}
	return &subjects[0], nil
}
