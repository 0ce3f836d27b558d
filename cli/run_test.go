// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugin"
)

func TestWhatCannotRunExitsWithTwo(t *testing.T) {
	fine := shoot("mine", "{type: noop}")
	runAll(t, []script{
		{name: "an unknown flag", args: "validate --loud", exit: 2, stderr: "Error: unknown flag: --loud\nSee 'trellis validate --help'.\n"},
		{name: "an unknown command", args: "vaildate", exit: 2, stderr: "~Error: unknown command \"vaildate\" for \"trellis\"\nDid you mean this?\nvalidate"},
		{name: "no input", args: "render", exit: 2, stderr: "Error: no input: pass -f FILE, or -f - for standard input\nSee 'trellis render --help'.\n"},
		{name: "an argument", args: "render shoot.yaml", exit: 2, stderr: "~Error: unexpected argument \"shoot.yaml\"; pass files with -f shoot.yaml"},
		{name: "a missing file", args: "validate -f gone.yaml", exit: 2, stderr: "Error: open gone.yaml: no such file or directory\n"},
		{name: "a directory", args: "validate -f .", exit: 2, stderr: "Error: read .: is a directory\n"},
		{name: "standard input twice", args: "validate -f - -f -", exit: 2, stderr: "~standard input can be read only once"},
		{name: "a feature gate without a value", args: "render --feature-gates Fast -f -", stdin: fine, exit: 2, stderr: "~\"Fast\" for \"--feature-gates\" flag: malformed pair, expect string=bool"},
		{
			name: "a feature gate that no plugin has", args: "validate --feature-gates Fast=true -f -", stdin: fine, exit: 2,
			stderr: "~--feature-gates[Fast]: Invalid value: \"true\": is not a feature gate; there are FastNoop, SafeNoop\nSee 'trellis validate --help'.",
		},
		{name: "an unknown mode", args: "render --mode alone -f -", stdin: fine, exit: 2, stderr: "~must be gardener or standalone"},
		{name: "an address without use", args: "render --api-server a:1 -f -", stdin: fine, exit: 2, stderr: "~--api-server requires --mode standalone"},
		{name: "no address", args: "render --mode standalone --api-server a:b:c -f -", stdin: fine, exit: 2, stderr: "~must be HOST:PORT"},
		{name: "no port", args: "render --mode standalone --api-server a:http -f -", stdin: fine, exit: 2, stderr: "~port \"http\" must be from 1 to 65535"},
		{name: "an unknown format", args: "render -o xml -f -", stdin: fine, exit: 2, stderr: "~must be yaml, json or dir=PATH"},
		{name: "an unknown target", args: "render --target moon -f -", stdin: fine, exit: 2, stderr: "~must be shoot or seed"},
		{name: "two inputs", args: "render --request r.json -f -", stdin: fine, exit: 2, stderr: "~[filename request] were all set"},
		{
			name: "a file where a directory should be", args: "render -o dir=taken -f -", stdin: fine, exit: 2,
			files: map[string]string{"taken": "precious"}, stderr: "Error: mkdir taken: not a directory\n",
		},
	})
}

func TestAFullDiskIsNotSuccess(t *testing.T) {
	for _, args := range []string{"validate -f -", "render -f -", "request -f -", "version", "explain", "explain noop", "schema noop"} {
		t.Run(args, func(t *testing.T) {
			g := NewWithT(t)
			exit := cli.Run(strings.Fields(args),
				cli.Streams{In: strings.NewReader(shoot("mine", "{type: noop}")), Out: fullDisk{}, Err: fullDisk{}},
				[]plugin.Plugin{plugin.New(noop{})}, nil)
			g.Expect(exit).To(Equal(cli.ExitCouldNotRun))
		})
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnInputThatBreaksOffIsNotAProblemOfItsText(t *testing.T) {
	for _, args := range []string{"validate -f -", "render -f -", "validate --request -"} {
		g := NewWithT(t)
		var stdout, stderr strings.Builder
		broken := io.MultiReader(strings.NewReader("kind: Shoot"), iotest.ErrReader(errors.New("disk on fire")))
		exit := cli.Run(strings.Fields(args), cli.Streams{In: broken, Out: &stdout, Err: &stderr}, []plugin.Plugin{plugin.New(noop{})}, nil)
		g.Expect(exit).To(Equal(cli.ExitCouldNotRun), args)
		g.Expect(stdout.String()).To(BeEmpty(), args)
		g.Expect(stderr.String()).To(Equal("Error: disk on fire\n"), args)
	}
}

func TestTwoPluginsOfOneTypeCannotRun(t *testing.T) {
	g := NewWithT(t)
	var stderr strings.Builder
	exit := cli.Run([]string{"version"}, cli.Streams{In: strings.NewReader(""), Out: &stderr, Err: &stderr},
		[]plugin.Plugin{plugin.New(noop{}), plugin.New(noop{})}, nil)
	g.Expect(exit).To(Equal(cli.ExitCouldNotRun))
	g.Expect(stderr.String()).To(ContainSubstring(`two plugins answer to the network type "noop"`))
}

func TestVersion(t *testing.T) {
	runAll(t, []script{{name: "one line", args: "version", stdout: "~trellis \ngo1."}})
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	runAll(t, []script{
		{name: "trellis", args: "", stdout: "~validate\nrender\nrequest\nversion\nExit status:\n0  the command succeeded"},
		{name: "validate", args: "validate --help", stdout: "~Examples:\nkubectl get shoot mine -o yaml | trellis validate -f -\ndefault api-server.invalid:443\nFastNoop=true|false (default false): is fast\nSafeNoop=true|false (default true)"},
		{name: "render", args: "render --help", stdout: "~Examples:\n--target seed -o json"},
		{name: "plan", args: "plan --help", stdout: "~Examples:\ntrellis plan --live -n shoot--dev--mine new.yaml\nExit status:\n3  changes that interrupt traffic"},
		{name: "explain", args: "explain --help", stdout: "~Examples:\ntrellis explain TYPE.FIELD.FIELD"},
		{name: "schema", args: "schema --help", stdout: "~Examples:\n> networkconfig.schema.json"},
		{name: "status", args: "status --help", stdout: "~Examples:\ntrellis status -A\nExit status:\n1  a Network is not"},
		{name: "takeover", args: "takeover --help", stdout: "~Examples:\ntrellis takeover --check -A --config operator.yaml\nExit status:\n1  Trellis would refuse a Network"},
		{name: "connectivity", args: "connectivity --help", stdout: "~Examples:\n--shoot-kubeconfig shoot.kubeconfig\nExit status:\n1  a target fails"},
		{name: "request", args: "request --help", stdout: "~Examples:\ntrellis render --request request.json"},
	})
}
