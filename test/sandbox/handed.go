// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// handedDown is the environment variable with the path of a file. The file has the
// program's report of a running sandbox, which the packages of a test run share.
const handedDown = "TRELLIS_SANDBOX"

// OfRun are the options of the sandbox of a test run. All packages share its shoot.
var OfRun = Options{Shoots: []string{"garden-dev/one"}, Nodes: 2}

// HandDown writes the sandbox's report into a file, and returns the environment
// variable, as NAME=VALUE, by which ShareWithRun finds it.
func (s *Sandbox) HandDown(file string) (variable string, err error) {
	report, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return handedDown + "=" + file, os.WriteFile(file, report, 0o600)
}

// ShareWithRun prepares the sandbox that the environment names. If it names none, for
// example because a package's tests run alone, ShareWithRun is Share. Each package
// must use namespaces of its own, so that its tests do not disturb those of others.
func ShareWithRun(options Options) *Shared {
	file := os.Getenv(handedDown)
	if file == "" {
		return Share(options)
	}
	return &Shared{options: options, start: func(context.Context, Options) (*Sandbox, error) { return taken(file, options) }}
}

// taken reads the report of a sandbox, and checks that the sandbox has the shoots and
// nodes of the options.
func taken(file string, options Options) (*Sandbox, error) {
	report, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the sandbox that %s names: %w", handedDown, err)
	}
	s := &Sandbox{}
	if err := json.Unmarshal(report, s); err != nil {
		return nil, fmt.Errorf("read the sandbox in %s: %w", file, err)
	}
	for _, wanted := range options.Shoots {
		if !slices.ContainsFunc(s.Shoots, func(has Shoot) bool {
			return has.Namespace+"/"+has.Name == wanted && has.Nodes >= options.Nodes
		}) {
			return nil, fmt.Errorf("the sandbox in %s has no shoot %s with %d nodes", file, wanted, options.Nodes)
		}
	}
	return s, nil
}

// EndWithParent ends this process when its parent has ended, for example when
// `go test` was killed. The sandboxes of this process end with it.
func EndWithParent() {
	const interval = 300 * time.Millisecond
	parent := os.Getppid()
	for range time.Tick(interval) {
		if os.Getppid() != parent {
			fmt.Fprintln(os.Stderr, "the process that started this one has ended")
			os.Exit(1)
		}
	}
}
