// SPDX-License-Identifier: Apache-2.0

// Package build builds agents of others from their sources, and puts them into images with the names that Trellis
// renders. What is built stays in the user's cache.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Step is one command of a build.
type Step struct {
	Name string
	// Dir is where it runs, and Env what its environment has beside that of this process.
	Dir     string
	Env     []string
	Command []string
}

// Run runs it. The error has the last lines of what the command prints.
func (s Step) Run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), s.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(output.String()), "\n")
		const last = 30
		return fmt.Errorf("%s: %w\n%s", strings.Join(s.Command, " "), err, strings.Join(lines[max(0, len(lines)-last):], "\n"))
	}
	return nil
}

// Agents are those of one network.
type Agents struct {
	// Name is how messages call them, such as "real Calico", and Cache the name of their directory among the caches.
	Name, Cache string
}

// Root is the directory with all that has been built: below TRELLIS_CACHE, or the user's caches.
func (a Agents) Root() (string, error) {
	root := os.Getenv("TRELLIS_CACHE")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no directory for caches: %w; set TRELLIS_CACHE to one", err)
		}
		root = filepath.Join(cache, "trellis")
	}
	root, err := filepath.Abs(filepath.Join(root, a.Cache))
	if err != nil {
		return "", err
	}
	return root, os.MkdirAll(root, 0o755)
}

// Publish builds in a directory of its own, which plan gets, and renames the directory that write has filled into
// place as dir, which is below the Root. Then it removes what other versions have left. It does nothing if another
// process has built dir while it waited for that.
func (a Agents) Publish(ctx context.Context, dir string, plan func(work string) ([]Step, error), write func(ctx context.Context, images string) error) error {
	root := filepath.Dir(dir)
	lock, err := os.Create(filepath.Join(root, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close() // this unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	// Go's cache knows again what it has compiled, since cgo's flags have the same paths each time.
	work := filepath.Join(root, "build")
	defer os.RemoveAll(work)
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o755)); err != nil {
		return err
	}
	steps, err := plan(work)
	if err != nil {
		return err
	}
	began := time.Now()
	for _, step := range steps {
		fmt.Fprintf(os.Stderr, "%s: [%s] %s\n", a.Name, time.Since(began).Round(time.Second), step.Name)
		if err := step.Run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	images := filepath.Join(work, "images")
	if err := write(ctx, images); err != nil {
		return err
	}
	if err := os.Rename(images, dir); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: [%s] built\n", a.Name, time.Since(began).Round(time.Second))
	return prune(root, dir)
}

// prune removes all results but this one.
func prune(root, dir string) error {
	all, err := filepath.Glob(filepath.Join(root, "v*"))
	for _, each := range all {
		if each != dir && err == nil {
			err = os.RemoveAll(each)
		}
	}
	return err
}

// AddFile adds the content of a file to what determines a key.
func AddFile(sum io.Writer, file string) error {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = io.Copy(sum, content)
	return err
}
