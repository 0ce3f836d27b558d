package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// handedDown, in the environment, is the path of a file with what the program reported
// of a running sandbox, which the packages of a test run share.
const handedDown = "TRELLIS_SANDBOX"

// OfRun is what the sandbox of a test run has. Its shoot is of all packages.
var OfRun = Options{Shoots: []string{"garden-dev/one"}, Nodes: 2}

// HandDown writes the sandbox into a file, and returns the environment variable by
// which ShareWithRun finds it.
func (s *Sandbox) HandDown(file string) (variable string, err error) {
	report, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return handedDown + "=" + file, os.WriteFile(file, report, 0o600)
}

// ShareWithRun prepares the sandbox that the environment hands down. Without one, as
// when a package's tests run alone, it is Share. Tests must get along with those of
// other packages: each has namespaces of its own.
func ShareWithRun(options Options) *Shared {
	file := os.Getenv(handedDown)
	if file == "" {
		return Share(options)
	}
	return &Shared{options: options, start: func(context.Context, Options) (*Sandbox, error) { return taken(file, options) }}
}

// taken reads a sandbox that was handed down and has what the options ask for.
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

// endWithParent ends this process when the one that started it is gone, as `go test`
// is when it was killed. The sandboxes of this process end with it.
func endWithParent() {
	const interval = 300 * time.Millisecond
	parent := os.Getppid()
	for range time.Tick(interval) {
		if os.Getppid() != parent {
			fmt.Fprintln(os.Stderr, "the process that started the tests is gone")
			os.Exit(1)
		}
	}
}
