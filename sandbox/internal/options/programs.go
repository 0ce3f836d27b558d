// SPDX-License-Identifier: Apache-2.0

package options

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
)

// readPrograms reads the programs and images of real nodes in the directory of --node-programs, or,
// if that is empty, those that `make real-nodes` printed last. It returns an Invalid if there are none.
func readPrograms(dir string) (*nodeprograms.Programs, error) {
	if dir == "" {
		return lastPrograms()
	}
	programs, err := nodeprograms.Read(dir)
	if err != nil {
		return nil, Invalidf("--%s: %v", programsFlag, err)
	}
	return programs, nil
}

// lastPrograms reads the complete directory that changed last of those in the user's cache.
// `make real-nodes` sets the time of the one that it prints. Directories of builds that have not
// ended have other names.
func lastPrograms() (*nodeprograms.Programs, error) {
	cache, err := programsCache()
	if err != nil {
		return nil, Invalidf("--%s is missing, and there is no directory for caches: %v; set TRELLIS_CACHE to one, and run `make real-nodes` as root", programsFlag, err)
	}
	// Its only error is that of a malformed pattern.
	dirs, _ := filepath.Glob(filepath.Join(cache, "v*-*"))
	changed := map[string]time.Time{}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil {
			changed[dir] = info.ModTime()
		}
	}
	slices.SortFunc(dirs, func(a, b string) int {
		return cmp.Or(changed[b].Compare(changed[a]), cmp.Compare(a, b))
	})
	for _, dir := range dirs {
		if programs, err := nodeprograms.Read(dir); err == nil {
			return programs, nil
		}
	}
	return nil, Invalidf("there are no programs of real nodes in %s; run `make real-nodes` as root, or name their directory with --%s", cache, programsFlag)
}

// programsCache is where `make real-nodes` puts what it builds: the package test/sandbox/internal/cache
// of the root module has the same rule.
func programsCache() (string, error) {
	const kind = "node-programs"
	if dir := os.Getenv("TRELLIS_CACHE"); dir != "" {
		return filepath.Join(dir, kind), nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "trellis", kind), err
}
