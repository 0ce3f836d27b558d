// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
)

// Invalid is an error in what the user asked for, for example in a flag. Its text
// has what was wrong, what is allowed and what to do. The program then ends with
// exit status 2.
type Invalid struct{ text string }

// Error implements error.
func (i *Invalid) Error() string { return i.text }

// Invalidf makes an Invalid.
func Invalidf(format string, args ...any) error {
	return &Invalid{text: fmt.Sprintf(format, args...)}
}

// IsInvalid reports whether err is, wraps or joins an Invalid.
func IsInvalid(err error) bool {
	var invalid *Invalid
	return errors.As(err, &invalid)
}
