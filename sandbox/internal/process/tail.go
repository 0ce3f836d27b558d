// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
	"strings"
)

const (
	tailLines = 20
	tailBytes = 16 << 10
)

// tail returns the last lines of a file, indented, or the error of reading it.
func tail(path string) string {
	text, err := end(path)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return "  " + strings.Join(lines, "\n  ")
}

func end(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-tailBytes), tailBytes))
	return string(content), err
}
