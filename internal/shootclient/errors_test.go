// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	. "github.com/onsi/gomega"
)

// A status that repeats a failure is not written again because of a number that
// differs each time.
func TestTheSameFailureIsToldInTheSameWords(t *testing.T) {
	lost := func(port int) error {
		return fmt.Errorf("http2: %w", &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer"),
			Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port}, Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 443}})
	}
	for name, test := range map[string]struct {
		err    error
		wanted string
	}{
		"lost":            {unanswered(lost(12345)), errBroken.Error()},
		"lost again":      {unanswered(lost(54321)), errBroken.Error()},
		"too late":        {fmt.Errorf("dial: %w", context.DeadlineExceeded), "it has not answered in time"},
		"client too late": {errors.New("net/http: request canceled"), "it has not answered in time"},
		"body too late":   {errors.New("GET /version: net/http: request canceled"), "it has not answered in time"},
		"anything else":   {errors.New("the answer has more than 8 MiB"), "the answer has more than 8 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			err := &UnreachableError{Server: "https://one", Err: test.err}
			NewWithT(t).Expect(err).To(MatchError("the shoot's API server https://one cannot be reached: " + test.wanted))
		})
	}
}
