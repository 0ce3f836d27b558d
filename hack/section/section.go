// SPDX-License-Identifier: Apache-2.0

// Package section replaces the generated sections of documents. The section NAME is
// between the lines <!-- begin: NAME --> and <!-- end: NAME -->.
package section

import (
	"fmt"
	"os"
	"strings"
)

// Write replaces a section of the document in a file.
func Write(path, name, content string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	replaced, err := Replace(string(document), name, content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(replaced), 0o644)
}

// Replace returns the document with another content of a section.
func Replace(document, name, content string) (string, error) {
	begin, end := "<!-- begin: "+name+" -->", "<!-- end: "+name+" -->"
	before, rest, found := strings.Cut(document, begin+"\n")
	_, after, ended := strings.Cut(rest, end+"\n")
	if !found || !ended {
		return "", fmt.Errorf("the lines %q and %q are missing", begin, end)
	}
	return before + begin + "\n" + content + end + "\n" + after, nil
}
