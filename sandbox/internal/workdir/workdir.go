// SPDX-License-Identifier: Apache-2.0

// Package workdir claims the directory of a sandbox and has the paths of all
// files in it.
package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// prefix is the prefix of the names of temporary directories.
const prefix = "trellis-sandbox-"

// nodes is the entry with what real nodes have.
const nodes = "nodes"

// ours are the entries that a sandbox creates in its directory. The next sandbox
// in the same directory removes them.
var ours = []string{"bin", "etcd", "kubeconfigs", "logs", nodes, "pki"}

// Dir is a directory that belongs to this process until it is released.
type Dir struct {
	path      string
	temporary bool
	lock      *lock
}

// Claim claims the directory at path, and creates it if it does not exist. If path
// is empty, Claim creates a temporary directory. It removes what an earlier sandbox
// left there. It returns an options.Invalid if another sandbox runs in the
// directory, or if the directory has other files.
func Claim(path string) (*Dir, error) {
	if path == "" {
		return claimTemporary()
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	if err := prepare(path); err != nil {
		return nil, err
	}
	lock, err := acquire(path)
	if err != nil {
		return nil, err
	}
	for _, name := range ours {
		if err := os.RemoveAll(filepath.Join(path, name)); err != nil {
			lock.release()
			return nil, fmt.Errorf("remove what an earlier sandbox left: %w", err)
		}
	}
	return &Dir{path: path, lock: lock}, nil
}

func claimTemporary() (*Dir, error) {
	sweep(os.TempDir())
	path, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, options.Invalidf("no temporary directory can be made (%v); set TMPDIR to a writable directory, or name one with --dir", err)
	}
	lock, err := acquire(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &Dir{path: path, temporary: true, lock: lock}, nil
}

// prepare creates the directory at path if it does not exist, and makes it private.
// It rejects a directory with files that are not a sandbox's.
func prepare(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return options.Invalidf("--dir %s cannot be a directory: %v; name one that exists or can be created", path, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return options.Invalidf("--dir %s cannot be read: %v; name a directory of your own", path, err)
	}
	_, err = os.Stat(filepath.Join(path, lockFile))
	if errors.Is(err, fs.ErrNotExist) && len(entries) > 0 {
		return options.Invalidf("--dir %s holds other files (%s, …), and a sandbox would mix with them; name an empty or new directory", path, entries[0].Name())
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return options.Invalidf("--dir %s cannot be made private: %v; name a directory of your own", path, err)
	}
	return nil
}

// sweep removes the temporary directories of killed sandboxes, which could not
// remove them themselves. It ignores errors.
func sweep(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, path := range paths {
		if abandoned(path) {
			_ = os.RemoveAll(path)
		}
	}
}

// Release unlocks the directory, and removes it if it is a temporary one.
func (d *Dir) Release() error {
	defer d.lock.release()
	if !d.temporary {
		return nil
	}
	return os.RemoveAll(d.path)
}

// RemoveNodes removes the root file systems of real nodes that the last sandbox left in the directory
// at path. If none was in there, it does nothing. It returns an options.Invalid if one runs there.
func RemoveNodes(path string) error {
	if !IsSandbox(path) {
		return nil
	}
	lock, err := acquire(path)
	if err != nil {
		return err
	}
	defer lock.release()
	return os.RemoveAll(filepath.Join(path, nodes))
}

// Path is the directory itself.
func (d *Dir) Path() string { return d.path }

// Temporary reports whether Release removes the directory.
func (d *Dir) Temporary() bool { return d.temporary }

// Kubectl is the link to this program by the name kubectl.
func (d *Dir) Kubectl() string { return filepath.Join(d.path, "bin", "kubectl") }

// Etcd is etcd's data directory.
func (d *Dir) Etcd() string { return filepath.Join(d.path, "etcd") }

// Nodes is the directory of the named cluster's real nodes.
func (d *Dir) Nodes(cluster string) string { return filepath.Join(d.path, nodes, cluster) }

// controlSocket is the name of the socket in Dir.Nodes that takes commands.
const controlSocket = "control.sock"

// ControlSocket is the socket on which the named cluster's real nodes take commands.
func (d *Dir) ControlSocket(cluster string) string {
	return filepath.Join(d.Nodes(cluster), controlSocket)
}

// ControlSocket returns the socket on which the real nodes of a shoot take commands. The
// sandbox is in the directory at path, and the shoot is NAMESPACE/NAME, or empty if there is
// only one. It returns an options.Invalid if there is no such socket.
func ControlSocket(path, shoot string) (string, error) {
	if _, running := Holder(path); !running {
		return "", options.Invalidf("no sandbox runs in %s; --dir is the field dir of the line that `up` printed", path)
	}
	shoots := filepath.Join(path, nodes, "shoots")
	pattern := shoot
	if shoot == "" {
		pattern = "*/*"
	}
	found, err := filepath.Glob(filepath.Join(shoots, pattern, controlSocket))
	if err != nil {
		return "", options.Invalidf("--shoot %q: %v", shoot, err)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", options.Invalidf("the sandbox in %s has no real nodes of shoot %q; real nodes need `trellis-sandbox up --nodes real:N`", path, shoot)
	}
	return "", options.Invalidf("the sandbox in %s has %d shoots with real nodes; name one with --shoot NAMESPACE/NAME", path, len(found))
}

// PKI is the directory of the named cluster's certificates and keys.
func (d *Dir) PKI(cluster string) string { return filepath.Join(d.path, "pki", cluster) }

// Kubeconfig is the file with the credentials of an identity in the named
// cluster.
func (d *Dir) Kubeconfig(cluster, identity string) string {
	return filepath.Join(d.path, "kubeconfigs", cluster, identity+".kubeconfig")
}

// UserKubeconfig is the file with a user's credentials in the seed. It escapes the
// user's name, which may have any characters.
func (d *Dir) UserKubeconfig(user string) string {
	return filepath.Join(d.path, "kubeconfigs", "users", url.PathEscape(user)+".kubeconfig")
}

// Logs is the directory of the logs of the named cluster's components. If cluster
// is empty, it is the directory of the logs of components that serve all clusters.
func (d *Dir) Logs(cluster string) string { return filepath.Join(d.path, "logs", cluster) }

// Log is the file to which a sandbox in the background writes its progress.
func Log(path string) string { return filepath.Join(path, "logs", "sandbox.log") }
