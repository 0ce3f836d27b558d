// SPDX-License-Identifier: Apache-2.0

package imagearchive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// documents are the JSON documents of an archive by their paths in it.
type documents map[string][]byte

// maxDocument bounds a document, and maxDocuments all of an archive, in bytes. A manifest has
// a few KiB, the config of a large image a few hundred.
const (
	maxDocument  = 4 << 20
	maxDocuments = 64 << 20
)

// read reads the JSON documents of the archive at path, and nothing of its layers.
func read(path string) (documents, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("it is a directory; tar -C %s -cf layout.tar . makes an archive of an OCI layout", path)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file; nodes read an archive more than once")
	}
	var content io.Reader = file
	if magic := make([]byte, 2); startsWith(file, magic) && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if content, err = gzip.NewReader(bufio.NewReader(file)); err != nil {
			return nil, fmt.Errorf("it is compressed, but cannot be read: %w", err)
		}
	}
	return collect(tar.NewReader(content))
}

// startsWith reads the first bytes of a file without moving its offset.
func startsWith(file io.ReaderAt, first []byte) bool {
	n, _ := file.ReadAt(first, 0)
	return n == len(first)
}

var errCutOff = errors.New("it ends in the middle; write or download it again")

// collect reads all files of an archive that may be JSON documents.
func collect(archive *tar.Reader) (documents, error) {
	found, total := documents{}, 0
	for first := true; ; first = false {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && !first:
			return found, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errCutOff
		case err != nil && first:
			return nil, errors.New("it is no tar archive; nodes import what `docker save` writes, or an OCI layout in an archive, compressed by gzip or not at all")
		case err != nil:
			return nil, fmt.Errorf("it cannot be read to its end: %w", err)
		}
		if header.Typeflag != tar.TypeReg || header.Size == 0 || header.Size > maxDocument {
			continue
		}
		content := bufio.NewReader(archive)
		if start, err := content.Peek(1); err != nil || (start[0] != '{' && start[0] != '[') {
			continue
		}
		document, err := io.ReadAll(content)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errCutOff
		}
		if err != nil {
			return nil, fmt.Errorf("%s in it cannot be read: %w", header.Name, err)
		}
		if total += len(document); total > maxDocuments {
			return nil, fmt.Errorf("it has more than %d MiB of documents that describe images", maxDocuments>>20)
		}
		found[path.Clean(header.Name)] = document
	}
}
