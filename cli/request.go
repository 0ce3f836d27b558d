// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/pipeline"
)

func newRequest(p *pipeline.Pipeline) *cobra.Command {
	var in input
	cmd := &cobra.Command{
		Use:   "request -f FILE",
		Short: "Print the Request of a network, to reproduce its objects and errors elsewhere",
		Long: `Print the Request of one network: everything that its objects depend on, as a JSON
document. 'trellis render --request' and 'trellis validate --request' return the
same objects and errors for it on any machine. The document names the version of
Trellis; another version warns, since it may give another result. The operator dumps
its Requests in the same format (dumpRequests in its configuration).

request does not validate the network, so that it also works for an invalid one.` + inputHelp + exitHelp,
		Example: `  trellis request -f shoot.yaml > request.json
  trellis render --request request.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return dumpRequest(cmd, p, &in) },
	}
	in.addFlags(cmd, p)
	return cmd
}

func dumpRequest(cmd *cobra.Command, p *pipeline.Pipeline, in *input) error {
	candidates, problems, err := in.load(cmd, p)
	if err != nil {
		return err
	}
	report := &reporter{to: cmd.ErrOrStderr(), manyFiles: len(in.files) > 1}
	one, err := single(candidates, problems, report)
	if err != nil {
		return err
	}
	report.stated(one)
	text, err := request.Encode(&one.request)
	if err != nil {
		return err
	}
	return written(cmd.OutOrStdout().Write(append(text, '\n')))
}

// decodeRequest decodes and checks a dumped Request.
func decodeRequest(text []byte) (file request.File, err error) {
	if len(text) > manifest.MaxBytes {
		return file, fmt.Errorf("is larger than %d MiB", manifest.MaxBytes>>20)
	}
	strict, err := kjson.UnmarshalStrict(text, &file)
	if err == nil && len(strict) > 0 {
		err = strict[0]
	}
	if err != nil {
		return file, fmt.Errorf("is not a Request of this version of Trellis: %w%s", err, otherVersion(&file, "; it "))
	}
	return file, checkRequest(&file.Request)
}

// otherVersion says, after a text, that a file comes from another version of Trellis, if it does.
func otherVersion(file *request.File, after string) string {
	if file.Version == request.Version() {
		return ""
	}
	return fmt.Sprintf("%scomes from Trellis %s, and this is %s: use that version for the result that it gave",
		after, fielderror.Abbreviate(cmp.Or(file.Version, "of an unknown version")), request.Version())
}

// checkRequest checks what Build relies on and every dumped Request fulfils.
func checkRequest(request *pipeline.Request) error {
	authors := []pipeline.Author{pipeline.AuthorNetwork, pipeline.AuthorShoot, pipeline.AuthorConfig}
	switch {
	case !slices.Contains(authors, request.Author):
		return fmt.Errorf("author is %q; it must be one of %v", request.Author, authors)
	case request.Name == "" || request.Namespace == "":
		return errors.New("has no name or no namespace")
	case len(request.Facts.IPFamilies) == 0:
		return errors.New("has no facts.ipFamilies")
	case !isConfig(request.Applied):
		return errors.New("applied.config must be an object")
	}
	if messages := validation.IsDNS1123Subdomain(request.Name); len(messages) > 0 {
		return fmt.Errorf("name is %q: %s", fielderror.Abbreviate(request.Name), messages[0])
	}
	if messages := validation.IsDNS1123Label(request.Namespace); len(messages) > 0 {
		return fmt.Errorf("namespace is %q: %s", fielderror.Abbreviate(request.Namespace), messages[0])
	}
	for i, family := range request.Facts.IPFamilies {
		if family != extensionsv1alpha1.IPv4 && family != extensionsv1alpha1.IPv6 || slices.Contains(request.Facts.IPFamilies[:i], family) {
			return fmt.Errorf("facts.ipFamilies[%d] is %q; it must be %s or %s, each at most once",
				i, fielderror.Abbreviate(string(family)), extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6)
		}
	}
	return nil
}
