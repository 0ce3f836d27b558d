// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// journal keeps the lines that are logged, by the shoot that they name.
type journal struct {
	mu    sync.Mutex
	named map[string][]string // by namespace, "" for lines that name none
}

// written has the lines of this process.
var written journal

var namespaces = regexp.MustCompile(`shoot--fleet--\d+`)

// Write implements io.Writer, for the standard library's log.
func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.named == nil {
		j.named = map[string][]string{}
	}
	about := string(namespaces.Find(line))
	j.named[about] = append(j.named[about], string(line))
	return len(line), nil
}

// logger returns a logger whose lines are kept.
func (j *journal) logger() logr.Logger {
	return funcr.New(func(_, line string) { _, _ = fmt.Fprint(j, line) }, funcr.Options{})
}

// counts returns how many lines were about each shoot, or about none.
func (j *journal) counts(shoots int) []int {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []int
	for i := range shoots {
		all = append(all, len(j.named[name(i)])+len(j.named[""]))
	}
	return all
}

// about returns the lines about a shoot, and those about none.
func (j *journal) about(shoot int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(slices.Concat(j.named[name(shoot)], j.named[""]), "\n")
}
