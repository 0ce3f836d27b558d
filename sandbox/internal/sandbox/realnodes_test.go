// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
	"github.com/trellis-network/trellis/sandbox/internal/options"
)

func TestAProgramOfNodesThatIsMissingIsNamed(t *testing.T) {
	programs := &nodeprograms.Programs{Dir: t.TempDir()}
	if err := os.Mkdir(programs.Bin(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "kubelet"} {
		err := checkPrograms(programs)
		if !options.IsInvalid(err) || !strings.Contains(err.Error(), filepath.Join(programs.Bin(), program)+":") {
			t.Errorf("without %s: %v", program, err)
		}
		if err := os.WriteFile(filepath.Join(programs.Bin(), program), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkPrograms(programs); err != nil {
		t.Error(err)
	}
}
