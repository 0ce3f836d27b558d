// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"
	cliflag "k8s.io/component-base/cli/flag"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

const (
	modeStandalone = "standalone"

	stdin = "-"
	// stdinName is the name of standard input in messages.
	stdinName = "<stdin>"
	// defaultAPIServer never resolves: pods without a real address fail for an obvious reason.
	defaultAPIServer = "api-server.invalid:443"
)

// inputHelp is part of the help of each command with an input.
const inputHelp = `

The input is a stream of YAML or JSON documents. Repeat -f to read several files.
  Shoot     Trellis derives the Network, as gardenlet does. For an existing Shoot use
            the output of 'kubectl get shoot -o yaml': the status has values that the
            manifest lacks, such as the address of the API server. A Shoot that does not
            exist yet (it has no uid, creationTimestamp and status) counts as
            trellis-admission completes it, but not with --mode standalone. A line has
            what that adds, as a JSON merge patch.
  Network   Without a Shoot, Trellis assumes that kube-proxy runs; that there is no
            NodeLocalDNS, no vertical pod autoscaler and no hibernation; and that the
            Kubernetes version and the nodes are unknown. spec.cloudProvider names the
            infrastructure; without it the infrastructure allows everything. The
            namespace defaults to "default".
  both      The Shoot (or a Cluster, which contains one) describes the cluster of the
            Network in its control-plane namespace. A single Shoot and a single
            Network always belong together.
  NetworkConfig
            The providerConfig alone. Flags describe its cluster, which is assumed to be
            like that of a Network without a Shoot. The config counts as it is:
            trellis-admission completes the configs of Shoots only.`

// input are the flags that name a command's input, and describe the operator.
type input struct {
	files       []string
	requestFile string
	gates       map[string]bool
	images      map[string]string
	mode        string
	podAccess   plugin.PodAccess // in mode standalone
	noProbe     bool
	cluster     clusterFlags
	// workerless has Shoots without workers read, which have no network.
	workerless bool
}

func (in *input) addFlags(cmd *cobra.Command, p *pipeline.Pipeline) {
	cmd.Flags().StringArrayVarP(&in.files, "filename", "f", nil, "`FILE` with manifests, - for standard input; repeatable")
	in.addOperatorFlags(cmd, p)
}

// addOperatorFlags adds the flags that describe how the operator runs.
func (in *input) addOperatorFlags(cmd *cobra.Command, p *pipeline.Pipeline) {
	flags, gates := cmd.Flags(), ""
	for _, gate := range p.FeatureGates() {
		gates += fmt.Sprintf("\n  %s", gate)
	}
	flags.Var(cliflag.NewMapStringBool(&in.gates), "feature-gates", "the operator's feature gates, as `A=true,B=false`:"+gates)
	addChoice(flags, &in.mode, "mode", "", "`MODE` of the operator: gardener or standalone. Standalone, Trellis gives pods their\ntokens and the address of their API server",
		"gardener", modeStandalone)
	in.podAccess, _ = podAccess(defaultAPIServer)
	addFlag(flags, "api-server", "", defaultAPIServer, "`HOST:PORT` of the shoot's API server, with --mode standalone. The operator reads it\nfrom the shoot's kubeconfig",
		func(value string) (err error) {
			in.podAccess, err = podAccess(value)
			return err
		})
	in.cluster.addFlags(flags)
	flags.BoolVar(&in.noProbe, "no-connectivity-probe", false, "the operator's configuration disables the connectivity probe")
}

// addRequestFlag adds the flag that reads a dumped Request instead of manifests.
func (in *input) addRequestFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&in.requestFile, "request", "", "`FILE` with a dumped Request to read instead of manifests, - for standard input")
	for _, other := range append([]string{"filename", "feature-gates", "mode", "api-server", "no-connectivity-probe"}, in.cluster.names...) {
		cmd.MarkFlagsMutuallyExclusive("request", other)
	}
}

// candidate is a network to build.
type candidate struct {
	source   manifest.Source
	name     string
	request  pipeline.Request
	warnings []plugin.Warning
	// stated is what trellis-admission adds to a Shoot, as a JSON merge patch, or empty.
	stated string
	// byFlags reports that flags describe the cluster.
	byFlags bool
}

func (c *candidate) String() string { return c.name }

// inItsWords returns a message that names what the user wrote, which may be flags.
func (c *candidate) inItsWords(message string) string {
	if c.byFlags {
		return inFlags.Replace(message)
	}
	return message
}

// load reads all input. Shoots that are not created yet are completed as trellis-admission does.
// Problems are errors in the input, and err is a failure to read it.
func (in *input) load(cmd *cobra.Command, p *pipeline.Pipeline) ([]*candidate, []manifest.Problem, error) {
	if err := in.checkOperatorFlags(cmd, p); err != nil {
		return nil, nil, err
	}
	if in.requestFile != "" {
		return in.loadRequest(cmd)
	}
	if len(in.files) == 0 {
		return nil, nil, errNoInput
	}
	subjects, problems, err := in.read(cmd, p, in.files)
	if err != nil {
		return nil, nil, err
	}
	if err := in.cluster.check(cmd, subjects); err != nil {
		return nil, nil, err
	}
	candidates := make([]*candidate, 0, len(subjects))
	for _, subject := range subjects {
		one := in.candidateFor(subject, p)
		if subject.Author == pipeline.AuthorShoot && one.request.Facts.Planned {
			if one, err = in.asCreated(subject, p); err != nil {
				return nil, nil, err
			}
		}
		candidates = append(candidates, one)
	}
	return candidates, problems, nil
}

func (in *input) checkOperatorFlags(cmd *cobra.Command, p *pipeline.Pipeline) error {
	if cmd.Flags().Changed("api-server") && in.mode != modeStandalone {
		return errors.New("--api-server requires --mode standalone")
	}
	gates, err := gatesOf(p, "--feature-gates", in.gates)
	in.gates = gates
	return err
}

// gatesOf returns the stated feature gates and those that are on by default.
func gatesOf(p *pipeline.Pipeline, path string, stated map[string]bool) (map[string]bool, error) {
	gates, errs := p.ResolveFeatureGates(field.NewPath(path), stated)
	return gates, errs.ToAggregate()
}

// read reads manifests from files and matches Networks with their Shoots.
func (in *input) read(cmd *cobra.Command, p *pipeline.Pipeline, files []string) ([]*manifest.Subject, []manifest.Problem, error) {
	if first := slices.Index(files, stdin); first >= 0 && slices.Contains(files[first+1:], stdin) {
		return nil, nil, errStdinTwice
	}
	set := manifest.Set{Configs: configTypes(p), Infrastructures: p.Infrastructures(), Cluster: in.cluster.shoot(), Workerless: in.workerless}
	for _, file := range files {
		name, text, err := contents(cmd, file)
		if err != nil {
			return nil, nil, err
		}
		set.Add(name, text)
	}
	subjects, problems := set.Subjects()
	return subjects, problems, nil
}

var errNoInput = errors.New("no input: pass -f FILE, or -f - for standard input")

var errStdinTwice = errors.New("standard input can be read only once")

// environment returns the operator's environment as the flags describe it.
func (in *input) environment() plugin.Environment {
	environment := plugin.Environment{FeatureGates: in.gates, Images: in.images}
	if in.mode == modeStandalone {
		environment.PodAccess = &in.podAccess
	}
	if !in.noProbe {
		environment.Probe = &plugin.Probe{}
	}
	return environment
}

func (in *input) candidateFor(subject *manifest.Subject, p *pipeline.Pipeline) *candidate {
	one := &candidate{source: subject.Source, name: subject.String()}
	one.request = p.NewRequest(subject.Network, subject.Shoot, in.environment())
	one.request.Author = subject.Author
	one.byFlags = subject.Author == pipeline.AuthorConfig
	one.request.Runs = runs(subject)
	one.warnings = subject.Contradictions()
	one.warnOfFamilies(subject)
	if remembered, err := state.Decode(subject.Network.Status.State); err == nil && isConfig(remembered.Applied) {
		one.request.Applied = remembered.Applied
		one.request.Runs = one.request.Runs && one.request.Applied == nil
	} else {
		one.warnings = append(one.warnings, plugin.Warning{Field: "status.state", Message: "is ignored, since Trellis did not write it"})
	}
	return one
}

// runs reports whether a network exists, even if Trellis would refuse it today: of a Shoot that is in a
// garden nothing else is known, and a status tells that an operator has applied the network.
func runs(one *manifest.Subject) bool {
	last := one.Network.Status.LastOperation
	switch {
	case one.Author == pipeline.AuthorShoot && one.Shoot.UID != "":
		return true
	case last != nil && one.Network.Status.ObservedGeneration != one.Network.Generation:
		return false
	case last == nil && one.Shoot != nil:
		last = one.Shoot.Status.LastOperation
	}
	return last != nil && last.State == corev1beta1.LastOperationStateSucceeded
}

// warnOfFamilies warns where the input lacks what the operator knows: whether the nodes are
// ready for a second IP family, or whether that is deployed already.
func (c *candidate) warnOfFamilies(subject *manifest.Subject) {
	now, wanted, status := c.request.Facts.IPFamilies, c.request.Spec.IPFamilies, subject.Network.Status.IPFamilies
	switch {
	case len(wanted) < 2:
	case subject.Author == pipeline.AuthorShoot && len(now) < 2:
		c.warnings = append(c.warnings, plugin.Warning{Field: "spec.networking.ipFamilies", Message: fmt.Sprintf(
			"only %s is assumed, since the nodes are not ready for %s; if the network has both, the operator keeps them: add the Network with its status", now[0], wanted[1])})
	case subject.Shoot == nil && len(status) == 1:
		c.warnings = append(c.warnings, plugin.Warning{Field: "status.ipFamilies", Message: fmt.Sprintf(
			"is %v, and %v is assumed; the operator adds %s once the nodes are ready: add the Shoot, whose constraint %s states that", status, now, wanted[1], pipeline.DualStackReady)})
	}
}

// isConfig reports whether the config that was applied last is a JSON object.
func isConfig(applied *pipeline.Applied) bool {
	return applied == nil || bytes.HasPrefix(bytes.TrimSpace(applied.Config), []byte("{"))
}

func (in *input) loadRequest(cmd *cobra.Command) ([]*candidate, []manifest.Problem, error) {
	name, text, err := contents(cmd, in.requestFile)
	if err != nil {
		return nil, nil, err
	}
	source := manifest.Source{File: name}
	file, err := decodeRequest(text)
	if err != nil {
		return nil, []manifest.Problem{{Source: source, Err: err}}, nil
	}
	one := &candidate{source: source, name: "network " + file.Namespace + "/" + file.Name, request: file.Request}
	if other := otherVersion(&file, ""); other != "" {
		one.warnings = []plugin.Warning{{Field: "trellisVersion", Message: other}}
	}
	return []*candidate{one}, nil, nil
}

// contents returns the name of a file or of standard input in messages, and its content: of
// one that is larger than manifest.MaxBytes, one byte more than that.
func contents(cmd *cobra.Command, name string) (string, []byte, error) {
	r := cmd.InOrStdin()
	if name == stdin {
		name = stdinName
	} else {
		file, err := os.Open(name)
		if err != nil {
			return "", nil, &ioError{err}
		}
		defer file.Close()
		r = file
	}
	text, err := io.ReadAll(io.LimitReader(r, manifest.MaxBytes+1))
	if err != nil {
		return "", nil, &ioError{err}
	}
	return name, text, nil
}

// single returns the only network of the input, or reports what is wrong.
func single[T fmt.Stringer](networks []T, problems []manifest.Problem, r *reporter) (one T, err error) {
	r.problems(problems)
	switch {
	case len(problems) > 0:
		return one, cmp.Or(r.err, errInvalid)
	case len(networks) > 1:
		var names []string
		for _, each := range networks {
			names = append(names, each.String())
		}
		return one, r.refuse("", fmt.Sprintf("the input has %d networks (%s); this command takes one", len(networks), listed(names)))
	}
	return networks[0], nil
}
