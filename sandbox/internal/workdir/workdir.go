// Package workdir claims the directory of a sandbox and says what lies where in
// it.
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

// prefix is how temporary directories begin.
const prefix = "trellis-sandbox-"

// ours are the things in the directory that a sandbox makes and, when the
// directory is used again, removes.
var ours = []string{"bin", "etcd", "kubeconfigs", "logs", "pki"}

// Dir is a directory that belongs to this process until it is released.
type Dir struct {
	path      string
	temporary bool
	lock      *lock
}

// Claim takes the directory at path, creating it if need be, or a fresh
// temporary one if path is empty. What an earlier sandbox left there is
// removed. A directory that something else uses is refused with an
// options.Invalid: one of a running sandbox, or one with foreign files.
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

// prepare makes sure that path is a directory of this user in which nothing is
// but what a sandbox may remove.
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

// sweep removes temporary directories of sandboxes that were killed and so
// could not do it themselves. What cannot be removed stays.
func sweep(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, path := range paths {
		if abandoned(path) {
			_ = os.RemoveAll(path)
		}
	}
}

// Release gives the directory up, and removes it if it was a temporary one.
func (d *Dir) Release() error {
	defer d.lock.release()
	if !d.temporary {
		return nil
	}
	return os.RemoveAll(d.path)
}

// Path is the directory itself.
func (d *Dir) Path() string { return d.path }

// Temporary tells whether Release removes the directory.
func (d *Dir) Temporary() bool { return d.temporary }

// Kubectl is where the link lies that makes the program behave as kubectl.
func (d *Dir) Kubectl() string { return filepath.Join(d.path, "bin", "kubectl") }

// Etcd is etcd's data directory.
func (d *Dir) Etcd() string { return filepath.Join(d.path, "etcd") }

// PKI is where certificates and keys of the named cluster lie.
func (d *Dir) PKI(cluster string) string { return filepath.Join(d.path, "pki", cluster) }

// Kubeconfig is the file with the credentials of an identity in the named
// cluster.
func (d *Dir) Kubeconfig(cluster, identity string) string {
	return filepath.Join(d.path, "kubeconfigs", cluster, identity+".kubeconfig")
}

// UserKubeconfig is the file with a user's credentials in the seed. Users may
// have any name; the file's name is its escaped form.
func (d *Dir) UserKubeconfig(user string) string {
	return filepath.Join(d.path, "kubeconfigs", "users", url.PathEscape(user)+".kubeconfig")
}

// Logs is where the logs of the named cluster's components lie; without a name
// it is where the logs of what serves all clusters lie.
func (d *Dir) Logs(cluster string) string { return filepath.Join(d.path, "logs", cluster) }

// Log is where a sandbox in the background reports what it does.
func Log(path string) string { return filepath.Join(path, "logs", "sandbox.log") }
