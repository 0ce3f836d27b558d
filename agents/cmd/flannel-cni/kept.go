// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// interfaceKey is the key under which a kept configuration has the name of the pod's interface,
// which a GC needs. Delegates ignore it.
const interfaceKey = "trellis.network/ifname"

// kept are the configurations that delegates got at ADD, in files that are named after their
// containers. DEL and CHECK need them, because the daemon may have written other ranges since.
type kept string

// path returns the file of a container. The container's ID was checked by skel: it begins with a
// letter or digit and has no slash.
func (k kept) path(container string) string { return filepath.Join(string(k), container) }

// write keeps a configuration. A reader of the file sees all of it or nothing.
func (k kept) write(container string, d delegation) error {
	content, err := json.Marshal(d)
	if err == nil {
		err = os.MkdirAll(string(k), 0o700)
	}
	if err != nil {
		return err
	}
	// No container's ID begins with a dot.
	begun := k.path("." + container)
	if err := os.WriteFile(begun, content, 0o600); err != nil {
		return err
	}
	return os.Rename(begun, k.path(container))
}

// read returns what is kept for a container. The error wraps fs.ErrNotExist if that is nothing.
func (k kept) read(container string) (delegation, error) {
	file, err := os.Open(k.path(container))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxConfig {
		return nil, fmt.Errorf("%s has more than %d bytes", file.Name(), maxConfig)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(content, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	d := delegation{}
	for key, value := range values {
		d[key] = value
	}
	return d, nil
}

// remove forgets a container. It is no error if nothing is kept for it.
func (k kept) remove(container string) error {
	for _, name := range []string{container, "." + container} {
		if err := os.Remove(k.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// containers returns those for which something is kept.
func (k kept) containers() ([]string, error) {
	entries, err := os.ReadDir(string(k))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var containers []string
	for _, entry := range entries {
		if entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
			containers = append(containers, entry.Name())
		}
	}
	return containers, nil
}
