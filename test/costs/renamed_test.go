// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"bytes"
	"io"
	"testing"

	. "github.com/onsi/gomega"
)

// renamed replaces text by another one of the same length in what is read.
type renamed struct {
	from     io.Reader
	old, new []byte
	buffered []byte
	err      error
}

// Read implements io.Reader. It keeps back the end of what was read for as long as the text may
// begin there.
func (r *renamed) Read(p []byte) (int, error) {
	for {
		kept := r.buffered
		if r.err == nil {
			kept = kept[:len(kept)-r.begun()]
		}
		if len(kept) > 0 {
			n := copy(p, kept)
			r.buffered = r.buffered[n:]
			return n, nil
		}
		if r.err != nil {
			return 0, r.err
		}
		more := make([]byte, 32<<10)
		n, err := r.from.Read(more)
		r.buffered, r.err = bytes.ReplaceAll(append(r.buffered, more[:n]...), r.old, r.new), err
	}
}

// begun returns how many bytes at the end may be the beginning of the text.
func (r *renamed) begun() int {
	for n := min(len(r.old)-1, len(r.buffered)); n > 0; n-- {
		if bytes.HasSuffix(r.buffered, r.old[:n]) {
			return n
		}
	}
	return 0
}

// body is a body that is renamed.
type body struct {
	renamed
	close func() error
}

// Close implements io.Closer.
func (b *body) Close() error { return b.close() }

func TestARenamedBodyIsReadWhole(t *testing.T) {
	for size := 1; size < 20; size++ {
		from := &renamed{from: &chunks{[]byte("a one, one one, on"), size}, old: []byte("one"), new: []byte("two")}
		var all []byte
		for p := make([]byte, 4); ; {
			n, err := from.Read(p)
			if all = append(all, p[:n]...); err != nil {
				break
			}
		}
		NewWithT(t).Expect(string(all)).To(Equal("a two, two two, on"))
	}
}

// chunks reads so many bytes at once.
type chunks struct {
	text []byte
	size int
}

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.text[:min(c.size, len(c.text))])
	c.text = c.text[n:]
	return n, nil
}
