// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
)

// Source is the place of a document in the input.
type Source struct {
	// File is the name of the input; Documents is how many there are in it.
	File      string
	Documents int
	// Document counts from 1. Empty documents do not count.
	Document int
	// Item counts from 1 in a List; it is 0 for a document that is no List.
	Item int
}

// Label names the document for users: with its file if wanted, and with its number if
// wanted, or if the file has several documents.
func (s Source) Label(file, number bool) string {
	var parts []string
	if file && s.File != "" {
		parts = append(parts, s.File)
	}
	if s.Document > 0 && (number || s.Documents > 1) {
		parts = append(parts, fmt.Sprintf("document %d", s.Document))
	}
	if s.Item > 0 {
		parts = append(parts, fmt.Sprintf("item %d", s.Item))
	}
	return strings.Join(parts, ": ")
}

// Problem is an error in an input, or in one of its documents.
type Problem struct {
	Source Source
	// Err is a *field.Error if it is about a field.
	Err error
}
