// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"os"
	"path/filepath"
	"sort"
	"time"
)

// keep is the number of entries that Prune keeps: this one, and that of another branch.
const keep = 2

// Prune marks the entry as used now, and removes all entries but those used last. A
// sandbox that runs from a removed entry continues to run.
func (e *Entry) Prune() error {
	now := time.Now()
	if err := os.Chtimes(e.Dir, now, now); err != nil {
		return err
	}
	programs, err := filepath.Glob(filepath.Join(e.Root, "v*-*", Program))
	if err != nil {
		return err
	}
	type used struct {
		dir  string
		when time.Time
	}
	var entries []used
	for _, program := range programs {
		dir := filepath.Dir(program)
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		entries = append(entries, used{dir: dir, when: info.ModTime()})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].when.After(entries[j].when) })
	for _, entry := range entries[min(keep, len(entries)):] {
		if err := os.RemoveAll(entry.dir); err != nil {
			return err
		}
	}
	return nil
}
