// SPDX-License-Identifier: Apache-2.0

// Package jsoncost tells what JSON costs that someone sends who may be hostile, before it is
// decoded: how many values it becomes, and whether it has a number that takes minutes to parse.
package jsoncost

import "errors"

// MaxObjects is how many objects a document may have. Five fields of an object, texts of a list, or
// lists count as one, and each number, boolean or null in a list: where the elements are structs in
// Go, two bytes become as much as an object does.
const MaxObjects = 100_000

const (
	perObject = 5
	maxCost   = MaxObjects * perObject
	// maxDepth is how many objects and lists may be in each other. Decoders have the same limit.
	maxDepth = 10_000
	// maxDigits is how many digits a number may have, also in a text. A quantity of a million takes ten
	// seconds to parse, and 3 GB.
	maxDigits = 1000
	// A quantity with this many digits, or a negative exponent, is calculated with all the digits that
	// its exponent makes: 1e-1000000000 takes hours. Others stay as they are, but for exponents that
	// overflow.
	slowDigits, slowExponent, overflowing = 18, 3, 10
)

// What documents are refused for.
var (
	ErrObjects = errors.New("has more than 100000 nested objects")
	ErrNumber  = errors.New("has a number with too many digits, or too large an exponent")
)

// Scanner reads documents one after the other, in parts of any size. The zero Scanner is ready to use.
type Scanner struct {
	// Size is how many bytes the present document has so far, with what was before it.
	Size int
	// Depth is how many objects and lists were in each other at most.
	Depth int

	cost int
	// lists has for each open object and list whether it is a list.
	lists []bool
	// quoted reports a text, and escaped that its last byte was a backslash.
	quoted, escaped bool
	// begins reports that an element of a list begins.
	begins bool
	number number
}

// Scan reads the next part. It returns how many documents end in it, and ErrObjects or ErrNumber for
// one that is refused.
func (s *Scanner) Scan(part []byte) (ended int, err error) {
	for _, b := range part {
		s.Size++
		if s.number.next(b, s.quoted, s.escaped) {
			return ended, ErrNumber
		}
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = b == '\\', b != '"'
		default:
			s.structure(b)
		}
		s.Depth = max(s.Depth, len(s.lists))
		if s.cost > maxCost || len(s.lists) > maxDepth {
			return ended, ErrObjects
		}
		if len(s.lists) == 0 && !s.quoted && (b == '}' || b == ']') {
			ended++
			s.Size, s.cost = 0, 0
		}
	}
	return ended, nil
}

// structure reads a byte that is in no text.
func (s *Scanner) structure(b byte) {
	begins := s.begins
	s.begins = false
	switch b {
	case '"':
		s.quoted = true
	case '{':
		s.lists = append(s.lists, false)
		s.cost += perObject
	case '[':
		s.lists, s.begins = append(s.lists, true), true
		s.cost++
	case '}', ']':
		s.lists = s.lists[:max(0, len(s.lists)-1)]
	case ',':
		s.begins = len(s.lists) > 0 && s.lists[len(s.lists)-1]
		s.cost++
	case ' ', '\t', '\n', '\r':
		s.begins = begins
	default:
		if begins {
			s.cost += perObject
		}
	}
}

// number is what was read of a text or a value as long as that is a number: an optional sign, digits,
// and an exponent. Quantities may be texts, with spaces around them.
type number struct {
	digits, exponent int
	// other reports that it is no number, isScaled that the exponent has begun, negative its sign, and
	// closed that a space came after it.
	other, isScaled, negative, closed bool
}

// next reads a byte of a text, if quoted, or of what is between texts, and reports whether with it
// there is a number that takes long to parse.
func (n *number) next(b byte, quoted, escaped bool) (slow bool) {
	switch {
	case b == '"' && !escaped, !quoted && separates(b):
		slow = !n.other && n.isSlow()
		*n = number{}
	case n.other:
	case isSpace(b):
		n.closed = n.digits > 0
	case n.closed:
		n.other = true
	case b >= '0' && b <= '9' && n.isScaled:
		n.exponent++
	case b >= '0' && b <= '9' || b == '.' && !n.isScaled:
		n.digits++
		slow = n.digits > maxDigits // whatever follows
	case (b == 'e' || b == 'E') && n.digits > 0 && !n.isScaled:
		n.isScaled = true
	case (b == '+' || b == '-') && n.isScaled && n.exponent == 0:
		n.negative = b == '-'
	case (b == '+' || b == '-') && n.digits == 0 && !n.isScaled:
	default:
		n.other = true
	}
	return slow
}

func (n *number) isSlow() bool {
	return n.exponent >= slowExponent && (n.negative || n.digits >= slowDigits || n.exponent >= overflowing)
}

func separates(b byte) bool {
	switch b {
	case ',', ':', '[', ']', '{', '}', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// isSpace reports whether a byte is a space, or may belong to one that is not ASCII.
func isSpace(b byte) bool { return b == ' ' || b >= 0x80 }
