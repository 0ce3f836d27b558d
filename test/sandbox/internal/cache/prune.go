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

// recent is how long after its use an entry is kept in any case. Real nodes start programs from
// theirs as long as they run.
const recent = time.Hour

// Prune marks the entry as used now, and removes all entries but those used last or recently.
// A sandbox with simulated nodes continues to run from a removed entry.
func (e *Entry) Prune() error {
	now := time.Now()
	if err := os.Chtimes(e.Dir, now, now); err != nil {
		return err
	}
	built, err := filepath.Glob(filepath.Join(e.Root, "v*-*", e.file))
	if err != nil {
		return err
	}
	type used struct {
		dir  string
		when time.Time
	}
	var entries []used
	for _, file := range built {
		dir := filepath.Dir(file)
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		entries = append(entries, used{dir: dir, when: info.ModTime()})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].when.After(entries[j].when) })
	for _, entry := range entries[min(keep, len(entries)):] {
		if now.Sub(entry.when) < recent {
			continue
		}
		if err := os.RemoveAll(entry.dir); err != nil {
			return err
		}
	}
	return nil
}
