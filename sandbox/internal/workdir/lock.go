// SPDX-License-Identifier: Apache-2.0

package workdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// lockFile marks a directory as one of a sandbox. A running sandbox holds a lock on
// this file. The kernel releases the lock when the process ends, even by SIGKILL.
// The file contains the process id of the holder.
const lockFile = "sandbox.pid"

// grown is the age after which an unlocked lock file is abandoned. A younger one
// may belong to a sandbox that has created the file but not locked it yet.
const grown = time.Minute

type lock struct{ file *os.File }

// acquire locks the directory for this process.
func acquire(path string) (*lock, error) {
	file, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, options.Invalidf("--dir %s is not writable: %v; name a directory of your own", path, err)
	}
	if err := flock(file); err != nil {
		_ = file.Close()
		if pid, running := Holder(path); running {
			return nil, options.Invalidf("--dir %s is in use by the sandbox with process id %d; stop it with `trellis-sandbox down --dir %s`, or name another directory", path, pid, path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := writePID(file); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("write %s: %w", file.Name(), err)
	}
	return &lock{file: file}, nil
}

func (l *lock) release() { _ = l.file.Close() }

func flock(file *os.File) error {
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Holder returns the process id of the sandbox that runs in the directory at
// path, if there is one.
func Holder(path string) (pid int, running bool) {
	file, err := os.Open(filepath.Join(path, lockFile))
	if err != nil {
		return 0, false
	}
	defer file.Close()
	if err := flock(file); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false
	}
	content, err := os.ReadFile(file.Name())
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
	return pid, err == nil
}

// IsSandbox reports whether the directory at path is, or was, one of a sandbox.
func IsSandbox(path string) bool {
	_, err := os.Stat(filepath.Join(path, lockFile))
	return err == nil
}

func abandoned(path string) bool {
	info, err := os.Stat(filepath.Join(path, lockFile))
	if err != nil || time.Since(info.ModTime()) < grown {
		return false
	}
	file, err := os.Open(filepath.Join(path, lockFile))
	if err != nil {
		return false
	}
	defer file.Close()
	return flock(file) == nil
}
