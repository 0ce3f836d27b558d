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

// need returns the folder with the programs: flanneld, flannel-cni, the CNI plugins bridge,
// host-local, loopback and portmap, and upstream/flannel, which is flannel's own CNI plugin.
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
		for _, module := range []struct {
			name, dir, output string
			packages          []string
		}{
			{"agents", folder, "/", []string{"./cmd/flanneld", "./cmd/flannel-cni", "tool"}},
			{"flannel's own CNI plugin", "upstream", "/upstream/", []string{"tool"}},
		} {
			build := gobuild.Build{
				Name: module.name, Dir: module.dir, Env: []string{"CGO_ENABLED=0"},
				Output: b.dir + module.output, Packages: module.packages,
				Preparing: "finding what must be compiled (a fresh machine loads modules first)",
				Long:      "compiling takes a minute or two; this is needed once",
			}
			if b.err = build.Run(t.Context()); b.err != nil {
				return
			}
		}
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
