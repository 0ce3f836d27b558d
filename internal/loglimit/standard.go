// SPDX-License-Identifier: Apache-2.0

package loglimit

import (
	"io"
	"strings"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
)

// Standard returns a writer for the log of Go's standard library, whose lines name no cluster.
// It passes on as many of them as there may be about one cluster, each without what a server
// sent: net/http quotes up to 4 kB of that, which may be any server that the operator reaches.
func Standard(logger logr.Logger) io.Writer {
	return standard{logger, rate.NewLimiter(rate.Every(2*period/maxLines), maxLines/2)}
}

type standard struct {
	to      logr.Logger
	allowed *rate.Limiter
}

// Write implements io.Writer for one line.
func (s standard) Write(line []byte) (int, error) {
	if s.allowed.Allow() {
		text, _, _ := strings.Cut(string(line), " starting with ")
		s.to.Info("Go's standard library reports", "line", strings.TrimSpace(text))
	}
	return len(line), nil
}
