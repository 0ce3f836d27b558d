// SPDX-License-Identifier: Apache-2.0

// Command contract compares docs/gardener-contract.md with the tests that show its
// behaviours. It reads the output of `go test -json` from files or from standard input,
// and fails if a test failed, if no test that passed shows a behaviour, or if the
// document's table of tests is out of date. With -write it writes the table instead.
//
//	go test -json $(go run ./hack/contract -packages) | go run ./hack/contract
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/test/contract"
)

const (
	module       = "github.com/trellis-network/trellis"
	documentPath = "docs/gardener-contract.md"
)

func main() {
	packages := flag.Bool("packages", false, "print the packages whose tests show behaviours, and read nothing")
	write := flag.Bool("write", false, "write the document's table of tests")
	flag.Parse()
	err := compare(flag.Args(), *write)
	if *packages {
		err = printPackages(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

// printPackages prints the packages whose tests can call contract.Shows.
func printPackages(w io.Writer) error {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
	list.Stderr = os.Stderr
	lines, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	const helper = module + "/test/contract"
	for line := range strings.Lines(string(lines)) {
		if imports := strings.Fields(line); imports[0] == helper || slices.Contains(imports[1:], helper) {
			if _, err := fmt.Fprintln(w, imports[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare reads the results of tests and checks the document, or writes its table.
func compare(files []string, write bool) error {
	found := newResults(os.Stdout)
	if len(files) == 0 {
		if err := found.read(os.Stdin); err != nil {
			return err
		}
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		err = errors.Join(found.read(file), file.Close())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(found.failed) > 0 {
		return fmt.Errorf("not compared: %d tests or packages failed", len(found.failed))
	}
	text, err := os.ReadFile(documentPath)
	if err != nil {
		return err
	}
	updated, problems := check(string(text), found.shown(), contract.IDs())
	if len(problems) > 0 {
		return fmt.Errorf("%s:\n  %s", documentPath, strings.Join(problems, "\n  "))
	}
	switch {
	case updated == string(text):
		fmt.Printf("%s agrees with the tests\n", documentPath)
	case write:
		return os.WriteFile(documentPath, []byte(updated), 0o644)
	default:
		return fmt.Errorf("the table of tests in %s is out of date; run make contract UPDATE=1", documentPath)
	}
	return nil
}
