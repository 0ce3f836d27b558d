// SPDX-License-Identifier: Apache-2.0

// Package section writes the generated sections of documents.
package section

import (
	"fmt"
	"os"
	"strings"
)

// Write replaces sections of a document, by their names. The section NAME is between the
// lines <!-- begin: NAME --> and <!-- end: NAME -->.
func Write(document string, sections map[string]string) error {
	content, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	text := string(content)
	for name, section := range sections {
		begin, end := "<!-- begin: "+name+" -->\n", "<!-- end: "+name+" -->\n"
		before, rest, found := strings.Cut(text, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			return fmt.Errorf("%s lacks the lines %q and %q", document, strings.TrimSpace(begin), strings.TrimSpace(end))
		}
		text = before + begin + section + end + after
	}
	return os.WriteFile(document, []byte(text), 0o644)
}
