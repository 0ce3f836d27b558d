// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxBytes is the size of an input at most, and what it may grow to when its
	// aliases are replaced. An API server takes 3 MiB in one request.
	maxBytes = 8 << 20
	// maxDocuments is how many documents an input may have.
	maxDocuments = 1000
)

// document is one document of a stream, of values that JSON has.
type document struct {
	source Source
	value  any
}

// chunk is the text of one document, and the line on which it begins.
type chunk struct {
	text []byte
	line int
}

// read reads a whole input. An error of r itself is returned as err; what is
// wrong with the text is a problem.
func read(name string, r io.Reader) (documents []document, found []Problem, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, nil, err
	}
	whole := Source{File: name}
	wrong := func(format string, args ...any) ([]document, []Problem, error) {
		return nil, []Problem{{whole, fmt.Errorf(format, args...)}}, nil
	}
	if len(text) > maxBytes {
		return wrong("is larger than %d MiB", maxBytes>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if at := notText(text); at >= 0 {
		return wrong("is not text in UTF-8: byte %d is %#02x", at+1, text[at])
	}
	chunks := split(text)
	switch {
	case len(chunks) == 0:
		return wrong("has no document; give a Network, a Shoot, or both")
	case len(chunks) > maxDocuments:
		return wrong("has more than %d documents", maxDocuments)
	}
	documents, found = decodeChunks(name, chunks)
	return documents, found, nil
}

// notText is the index of the first byte that no YAML or JSON text contains, or
// -1.
func notText(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 || r == 0 {
			return i
		}
		i += size
	}
	return -1
}

// split cuts a stream at its document markers, "---" and "..." at the beginning
// of a line, and leaves out documents without content.
func split(text []byte) []chunk {
	var chunks []chunk
	current := chunk{line: 1}
	end := func(next int) {
		if hasContent(current.text) {
			chunks = append(chunks, current)
		}
		current = chunk{line: next}
	}
	line := 0
	for rest := text; len(rest) > 0; {
		line++
		length := bytes.IndexByte(rest, '\n') + 1
		if length == 0 {
			length = len(rest)
		}
		one := rest[:length]
		rest = rest[length:]
		switch {
		case isMarker(one, "---"):
			end(line)
			one = one[len("---"):]
		case isMarker(one, "..."):
			end(line + 1)
			continue
		}
		current.text = append(current.text, one...)
	}
	end(line)
	return chunks
}

func isMarker(line []byte, marker string) bool {
	rest, found := bytes.CutPrefix(line, []byte(marker))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// hasContent says whether there is more than comments and directives.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return true
		}
	}
	return false
}

func decodeChunks(name string, chunks []chunk) (documents []document, found []Problem) {
	values := make([][]json.RawMessage, len(chunks))
	count := 0
	for i, c := range chunks {
		values[i] = jsonValues(c.text)
		count += max(1, len(values[i]))
	}
	number := 0
	source := func() Source {
		number++
		return Source{File: name, Documents: count, Document: number}
	}
	for i, c := range chunks {
		if len(values[i]) == 0 {
			one := document{source: source()}
			var err error
			if one.value, err = fromYAML(c.text); err != nil {
				found = append(found, Problem{one.source, atLine(err, c.line)})
				continue
			}
			documents = append(documents, one)
		}
		for _, value := range values[i] {
			one := document{source: source()}
			var err error
			if one.value, err = fromJSON(value); err != nil {
				found = append(found, Problem{one.source, err})
				continue
			}
			documents = append(documents, one)
		}
	}
	return documents, found
}

// jsonValues returns the JSON values of a text that consists of nothing else,
// and none for YAML.
func jsonValues(text []byte) []json.RawMessage {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' {
		return nil
	}
	var values []json.RawMessage
	for decoder := json.NewDecoder(bytes.NewReader(text)); len(values) <= maxDocuments; {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			return nil
		}
		values = append(values, value)
	}
	return nil
}

var lineInError = regexp.MustCompile(`line (\d+)`)

// atLine makes the line numbers of a decoder's error those of the file.
func atLine(err error, first int) error {
	message := lineInError.ReplaceAllStringFunc(err.Error(), func(match string) string {
		line, err := strconv.Atoi(strings.TrimPrefix(match, "line "))
		if err != nil {
			return match
		}
		return fmt.Sprintf("line %d", line+first-1)
	})
	return errors.New(message)
}
