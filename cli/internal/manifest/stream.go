// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

const (
	// maxBytes is the size of an input at most, and what it may grow to when its
	// aliases are replaced. An API server takes 3 MiB in one request.
	maxBytes = 8 << 20
	// maxDocuments is how many documents an input may have.
	maxDocuments = 1000
)

// document is one document of a stream, with JSON values.
type document struct {
	source Source
	value  any
}

// read reads a whole input. It returns errors in the text as problems, and an error of r as
// err.
func read(name string, r io.Reader) (documents []document, found []Problem, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, nil, err
	}
	wrong := func(format string, args ...any) ([]document, []Problem, error) {
		return nil, []Problem{{Source{File: name}, fmt.Errorf(format, args...)}}, nil
	}
	if len(text) > maxBytes {
		return wrong("is larger than %d MiB", maxBytes>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if at := notText(text); at >= 0 {
		return wrong("is not text in UTF-8: byte %d is %#02x", at+1, text[at])
	}
	all := fromStream(text)
	switch {
	case len(all) == 0:
		return wrong("has no document; provide a Network, a Shoot, or both")
	case len(all) > maxDocuments:
		return wrong("has more than %d documents", maxDocuments)
	}
	for i, one := range all {
		source := Source{File: name, Documents: len(all), Document: i + 1}
		if one.err != nil {
			found = append(found, Problem{source, one.err})
		} else {
			documents = append(documents, document{source, one.value})
		}
	}
	return documents, found, nil
}

// notText returns the index of the first byte that is not allowed in YAML and JSON, or -1.
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

// decoded is a decoded document, or why it cannot be decoded.
type decoded struct {
	value any
	err   error
}

// fromStream decodes JSON values, one after the other, or YAML documents, without
// those that are empty. It stops after one document more than an input may have,
// and where the text is not YAML.
func fromStream(text []byte) []decoded {
	var all []decoded
	if values := jsonValues(text); len(values) > 0 {
		for _, raw := range values {
			value, err := fromJSON(raw)
			all = append(all, decoded{value, err})
		}
		return all
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.SetStrict(true) // a field must not occur twice
	for len(all) <= maxDocuments {
		var value any
		err := decoder.Decode(&value)
		var misfit *yaml.TypeError
		switch {
		case errors.Is(err, io.EOF):
			return all
		case errors.As(err, &misfit):
			all = append(all, decoded{err: plain(err)})
		case err != nil && strings.HasSuffix(err.Error(), noDocumentStart) && len(all) > 0:
			all[len(all)-1] = decoded{err: errMore}
			return all
		case err != nil:
			return append(all, decoded{err: plain(err)})
		case value != nil:
			value, err = fromYAML(value)
			all = append(all, decoded{value, err})
		}
	}
	return all
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
	return values
}
