// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	kjson "sigs.k8s.io/json"

	"github.com/trellis-network/trellis/pipeline"
)

// maxRequest is the size of a dumped Request at most.
const maxRequest = 8 << 20

func newRequest(p *pipeline.Pipeline) *cobra.Command {
	var in input
	cmd := &cobra.Command{
		Use:   "request -f FILE",
		Short: "Print all that a network's objects depend on, to replay it elsewhere",
		Long: `Print the Request of a network: all that its objects depend on, as one JSON
document. 'trellis render --request' and 'trellis validate --request' give the
same answer for it anywhere. The operator dumps its Requests in the same format.

Nothing is checked, so that a Request which is refused can be looked into, too.
` + inputHelp + `

request takes one network at a time.`,
		Example: `  trellis request -f shoot.yaml > request.json
  trellis render --request request.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return dumpRequest(cmd, p, &in) },
	}
	in.addFlags(cmd, p)
	return cmd
}

func dumpRequest(cmd *cobra.Command, p *pipeline.Pipeline, in *input) error {
	works, problems, err := in.load(cmd, p)
	if err != nil {
		return err
	}
	one, err := single(works, problems, &reporter{to: cmd.ErrOrStderr(), manyFiles: in.manyFiles()})
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(one.request, "", "  ")
	if err == nil {
		_, err = cmd.OutOrStdout().Write(append(text, '\n'))
	}
	if err != nil {
		return &ioError{err}
	}
	return nil
}

// decodeRequest reads a dumped Request. What is wrong with it is returned as
// wrong, a failure to read as err.
func decodeRequest(r io.Reader) (request pipeline.Request, wrong, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxRequest+1))
	if err != nil {
		return request, nil, err
	}
	if len(text) > maxRequest {
		return request, fmt.Errorf("is larger than %d MiB", maxRequest>>20), nil
	}
	strict, wrong := kjson.UnmarshalStrict(text, &request)
	if wrong == nil {
		wrong = errors.Join(strict...)
	}
	if wrong != nil {
		return request, fmt.Errorf("is not a Request of this version of Trellis: %w", wrong), nil
	}
	switch {
	case request.Author != pipeline.AuthorNetwork && request.Author != pipeline.AuthorShoot:
		wrong = fmt.Errorf("author is %q; it must be %s or %s", request.Author, pipeline.AuthorNetwork, pipeline.AuthorShoot)
	case request.Name == "" || request.Namespace == "":
		wrong = errors.New("lacks name or namespace")
	case len(request.Facts.IPFamilies) == 0:
		wrong = errors.New("lacks facts.ipFamilies")
	}
	return request, wrong, nil
}
