// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"regexp"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// Lines collects the lines that an operator logs. The zero value is ready to use.
type Lines struct {
	mutex sync.Mutex
	all   []string
}

// Logger returns a Logger that writes to the Lines.
func (l *Lines) Logger() logr.Logger {
	return funcr.New(func(_, line string) {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.all = append(l.all, line)
	}, funcr.Options{})
}

// String returns all lines.
func (l *Lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.all, "\n")
}

var (
	duration = regexp.MustCompile(`"duration"="[^"]+"`)
	// common are the keys that controller-runtime adds to each line.
	common = regexp.MustCompile(`"(controller|controllerGroup|controllerKind|Shoot|Network|namespace|name|reconcileID)"=("[^"]*"|\{[^}]*\}) `)
)

// With returns the lines with a message. It removes the keys that controller-runtime adds,
// and empties durations.
func (l *Lines) With(message string) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	wanted := regexp.MustCompile(`"msg"="` + regexp.QuoteMeta(message) + `".*`)
	var found []string
	for _, line := range l.all {
		if match := wanted.FindString(line); match != "" {
			found = append(found, duration.ReplaceAllString(common.ReplaceAllString(match, ""), `"duration"=""`))
		}
	}
	return found
}
