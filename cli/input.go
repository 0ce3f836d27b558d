// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

const (
	stdin = "-"
	// stdinName is the name of standard input in messages.
	stdinName = "<stdin>"
	// defaultAPIServer never resolves, so that pods rendered without a real address fail
	// for an obvious reason.
	defaultAPIServer = "api-server.invalid:443"
)

// inputHelp is part of the help of each command with an input.
const inputHelp = `

The input is a stream of YAML or JSON documents. Repeat -f to read several files.
  Shoot     Trellis derives the Network, as gardenlet does. For an existing Shoot use
            the output of 'kubectl get shoot -o yaml': the status has values that the
            manifest lacks, such as the address of the API server.
  Network   Without a Shoot, Trellis assumes that kube-proxy runs; that there is no
            NodeLocalDNS, no vertical pod autoscaler and no hibernation; and that the
            Kubernetes version and the nodes are unknown. spec.cloudProvider names the
            infrastructure; without it the infrastructure allows everything. The
            namespace defaults to "default".
  both      The Shoot (or a Cluster, which contains one) describes the cluster of the
            Network in its control-plane namespace. A single Shoot and a single
            Network always belong together.`

// input are the flags that name a command's input, and describe the operator.
type input struct {
	files       []string
	requestFile string
	gates       map[string]bool
	images      map[string]string
	mode        choice
	apiServer   apiServer
}

func (in *input) addFlags(cmd *cobra.Command, p *pipeline.Pipeline) {
	cmd.Flags().StringArrayVarP(&in.files, "filename", "f", nil, "`FILE` with manifests, - for standard input; repeatable")
	in.addOperatorFlags(cmd, p)
}

// addOperatorFlags adds the flags that describe how the operator runs.
func (in *input) addOperatorFlags(cmd *cobra.Command, p *pipeline.Pipeline) {
	in.mode = choice{value: modeGardener, allowed: []string{modeGardener, modeStandalone}}
	if err := in.apiServer.Set(defaultAPIServer); err != nil {
		panic(err)
	}
	flags := cmd.Flags()
	flags.Var(cliflag.NewMapStringBool(&in.gates), "feature-gates", "the operator's feature gates, as `A=true,B=false`:"+gatesHelp(p.FeatureGates()))
	flags.Var(&in.mode, "mode", "`MODE` of the operator: gardener or standalone. Standalone, Trellis gives pods their\ntokens and the address of their API server")
	flags.Var(&in.apiServer, "api-server", "`HOST:PORT` of the shoot's API server, with --mode standalone. The operator reads it\nfrom the shoot's kubeconfig")
}

// addRequestFlag adds the flag that reads a dumped Request instead of manifests.
func (in *input) addRequestFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&in.requestFile, "request", "", "`FILE` with a dumped Request to read instead of manifests, - for standard input")
	for _, other := range []string{"filename", "feature-gates", "mode", "api-server"} {
		cmd.MarkFlagsMutuallyExclusive("request", other)
	}
}

// candidate is a network to build.
type candidate struct {
	source   manifest.Source
	name     string
	request  pipeline.Request
	warnings []plugin.Warning
}

// load reads all input. Problems are errors in the input, and err is a failure to read it.
func (in *input) load(cmd *cobra.Command, p *pipeline.Pipeline) ([]candidate, []manifest.Problem, error) {
	if err := in.checkOperatorFlags(cmd, p); err != nil {
		return nil, nil, err
	}
	if in.requestFile != "" {
		return in.loadRequest(cmd)
	}
	if len(in.files) == 0 {
		return nil, nil, errors.New("no input: pass -f FILE, or -f - for standard input")
	}
	subjects, problems, err := read(cmd, in.files)
	if err != nil {
		return nil, nil, err
	}
	candidates := make([]candidate, 0, len(subjects))
	for i := range subjects {
		candidates = append(candidates, in.candidateFor(&subjects[i], p))
	}
	return candidates, problems, nil
}

func (in *input) checkOperatorFlags(cmd *cobra.Command, p *pipeline.Pipeline) error {
	if cmd.Flags().Changed("api-server") && in.mode.value != modeStandalone {
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
func read(cmd *cobra.Command, files []string) ([]manifest.Subject, []manifest.Problem, error) {
	if first := slices.Index(files, stdin); first >= 0 && slices.Contains(files[first+1:], stdin) {
		return nil, nil, errStdinTwice
	}
	var set manifest.Set
	for _, name := range files {
		err := open(cmd, name, func(name string, r io.Reader) error { return set.Add(name, r) })
		if err != nil {
			return nil, nil, err
		}
	}
	subjects, problems := set.Subjects()
	return subjects, problems, nil
}

var errStdinTwice = errors.New("standard input can be read only once")

// environment returns the operator's environment as the flags describe it.
func (in *input) environment() plugin.Environment {
	environment := plugin.Environment{FeatureGates: in.gates, Images: in.images}
	if in.mode.value == modeStandalone {
		environment.PodAccess = &plugin.PodAccess{Host: in.apiServer.host, Port: in.apiServer.port}
	}
	return environment
}

func (in *input) candidateFor(subject *manifest.Subject, p *pipeline.Pipeline) candidate {
	one := candidate{source: subject.Source, name: subject.String()}
	one.request = p.NewRequest(subject.Network, subject.Shoot, in.environment())
	one.request.Author = subject.Author
	one.warnings = subject.Contradictions()
	one.warnOfFamilies(subject)
	remembered, err := state.Decode(subject.Network.Status.State)
	if err != nil || !isConfig(remembered.Applied) {
		one.warnings = append(one.warnings, plugin.Warning{
			Field: "status.state", Message: "is ignored, since Trellis did not write it",
		})
		return one
	}
	one.request.Applied = remembered.Applied
	return one
}

// isConfig reports whether the config that was applied last is a JSON object.
func isConfig(applied *pipeline.Applied) bool {
	return applied == nil || bytes.HasPrefix(bytes.TrimSpace(applied.Config), []byte("{"))
}

func (in *input) loadRequest(cmd *cobra.Command) (candidates []candidate, problems []manifest.Problem, err error) {
	err = open(cmd, in.requestFile, func(name string, r io.Reader) error {
		source := manifest.Source{File: name}
		file, wrong, err := decodeRequest(r)
		if wrong != nil {
			problems = []manifest.Problem{{Source: source, Err: wrong}}
			return nil
		}
		one := candidate{source: source, name: "network " + file.Namespace + "/" + file.Name, request: file.Request}
		if other := otherVersion(&file, ""); other != "" {
			one.warnings = []plugin.Warning{{Field: "trellisVersion", Message: other}}
		}
		candidates = []candidate{one}
		return err
	})
	return candidates, problems, err
}

// open calls read with the named file or standard input.
func open(cmd *cobra.Command, name string, read func(name string, r io.Reader) error) error {
	r := cmd.InOrStdin()
	if name == stdin {
		name = stdinName
	} else {
		file, err := os.Open(name)
		if err != nil {
			return &ioError{err}
		}
		defer file.Close()
		r = file
	}
	if err := read(name, r); err != nil {
		return &ioError{err}
	}
	return nil
}

// single returns the only network of the input, or reports what is wrong.
func single(candidates []candidate, problems []manifest.Problem, r *reporter) (*candidate, error) {
	r.problems(problems)
	switch {
	case len(problems) > 0:
		return nil, errInvalid
	case len(candidates) > 1:
		names := make([]string, 0, len(candidates))
		for i := range candidates {
			names = append(names, candidates[i].name)
		}
		r.line("error", "", fmt.Sprintf("the input has %d networks (%s); this command takes one", len(candidates), listed(names)))
		return nil, errInvalid
	}
	return &candidates[0], nil
}
