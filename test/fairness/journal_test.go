// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// journal counts the lines that are logged, by the shoot that they name.
type journal struct {
	mu    sync.Mutex
	named map[string]int // by namespace, "" for lines that name none
}

// written has the lines of this process.
var written journal

var namespaces = regexp.MustCompile(`shoot--fleet--\d+`)

// Write implements io.Writer, for the standard library's log.
func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.named == nil {
		j.named = map[string]int{}
	}
	j.named[string(namespaces.Find(line))]++
	return len(line), nil
}

// logger returns a logger whose lines are counted.
func (j *journal) logger() logr.Logger {
	return funcr.New(func(_, line string) { _, _ = fmt.Fprint(j, line) }, funcr.Options{})
}

// counts returns how many lines were about each shoot, or about none.
func (j *journal) counts(shoots int) []int {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []int
	for i := range shoots {
		all = append(all, j.named[name(i)]+j.named[""])
	}
	return all
}
