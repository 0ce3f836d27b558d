package options

import (
	"errors"
	"fmt"
)

// Invalid is an error of whoever called the program: something was asked for
// that cannot be had. Its text says what was wrong, what is allowed and what to
// do. The program ends with exit status 2 on it.
type Invalid struct{ text string }

// Error implements error.
func (i *Invalid) Error() string { return i.text }

// Invalidf makes an Invalid.
func Invalidf(format string, args ...any) error {
	return &Invalid{text: fmt.Sprintf(format, args...)}
}

// IsInvalid tells whether err is, wraps or joins an Invalid.
func IsInvalid(err error) bool {
	var invalid *Invalid
	return errors.As(err, &invalid)
}
