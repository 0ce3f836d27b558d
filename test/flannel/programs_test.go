// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/trellis-network/trellis/hack/gobuild"
)

// programs are those of agents/, built once.
var programs agents

type agents struct {
	once sync.Once
	dir  string
	err  error
}

// need returns the folder with the programs: flanneld, flannel-cni, and the CNI plugins bridge,
// host-local, loopback and portmap.
func (b *agents) need(t *testing.T) string {
	t.Helper()
	b.once.Do(func() {
		const folder = "../../agents"
		// go test runs the tests again when a file changes that they have read.
		if b.err = filepath.WalkDir(folder, func(_ string, _ fs.DirEntry, err error) error { return err }); b.err != nil {
			return
		}
		if b.dir, b.err = os.MkdirTemp("", "trellis-agents-"); b.err != nil {
			return
		}
		build := gobuild.Build{
			Name: "agents", Dir: folder, Env: []string{"CGO_ENABLED=0"}, Flags: []string{"-trimpath"},
			Output: b.dir + "/", Packages: []string{"./cmd/flanneld", "./cmd/flannel-cni", "tool"},
			Preparing: "finding what must be compiled (a fresh machine loads modules first)",
			Long:      "compiling takes a minute or two; this is needed once",
		}
		b.err = build.Run(t.Context())
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.dir
}

func (b *agents) remove() {
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}
