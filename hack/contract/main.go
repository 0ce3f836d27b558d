// SPDX-License-Identifier: Apache-2.0

// Command contract compares docs/gardener-contract.md with the tests that show its
// behaviours. It reads the output of `go test -json` from standard input, and fails if a
// test failed, if no test that passed shows a behaviour, or if the document's table of
// tests is out of date. With -write it writes the table instead.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/trellis-network/trellis/test/contract"
)

const documentPath = "docs/gardener-contract.md"

func main() {
	write := flag.Bool("write", false, "write the document's table of tests")
	flag.Parse()
	if err := compare(*write); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

// compare reads the results of tests and checks the document, or writes its table.
func compare(write bool) error {
	found := newResults(os.Stdout)
	if err := found.read(os.Stdin); err != nil {
		return err
	}
	if found.failed > 0 {
		return fmt.Errorf("not compared: %d tests or packages failed", found.failed)
	}
	text, err := os.ReadFile(documentPath)
	if err != nil {
		return err
	}
	updated, problems := check(string(text), found.shown(), contract.IDs())
	switch {
	case len(problems) > 0:
		return fmt.Errorf("%s:\n  %s", documentPath, strings.Join(problems, "\n  "))
	case write:
		return os.WriteFile(documentPath, []byte(updated), 0o644)
	case updated != string(text):
		return fmt.Errorf("the table of tests in %s is out of date; run make contract UPDATE=1", documentPath)
	}
	fmt.Printf("%s agrees with the tests\n", documentPath)
	return nil
}
