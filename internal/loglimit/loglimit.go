// SPDX-License-Identifier: Apache-2.0

// Package loglimit keeps a cluster that fails again and again from filling the log.
package loglimit

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// How many lines about one cluster are written in a period, whenever it begins, and how many of them
// with the same message.
const (
	maxLines = 9
	maxAlike = 4
	period   = time.Minute
)

// leftOut is the message of the line about lines that were not written.
const leftOut = "Lines about a cluster were left out"

// Limit returns a logger that writes at most nine lines a minute about one cluster, and four of
// them with the same message. Before the next line about any cluster, a tenth then says how many
// were left out. A line is about the control plane whose namespace it has as the value
// "namespace", or about the Shoot that it has as "Shoot". Lines about requests to a "webhook" of
// the operator, which any cluster can send, count as those about one. Lines about none are all
// written.
func Limit(logger logr.Logger, now clock.PassiveClock) logr.Logger {
	if logger.IsZero() {
		return logger
	}
	inner := deeper(logger.GetSink(), 1) // for the methods of sink
	return logger.WithSink(sink{inner, cluster{}, &lines{out: inner, clock: now, counts: map[cluster]*count{}}})
}

// cluster is what lines are about.
type cluster struct{ namespace, shoot, webhook string }

// lines counts lines. Once in a period it tells how many it left out, and forgets clusters without
// lines.
type lines struct {
	out   logr.LogSink
	clock clock.PassiveClock

	mu     sync.Mutex
	began  time.Time
	counts map[cluster]*count
}

// count is when the last lines about a cluster were written, in all and by message, and how many were
// left out.
type count struct {
	written window
	alike   map[string]window
	leftOut int
}

// window is when the lines of the last period were written.
type window []time.Time

// at returns what the window has at a time.
func (w window) at(now time.Time) window {
	return slices.DeleteFunc(w, func(written time.Time) bool { return now.Sub(written) >= period })
}

// sink passes on the lines that are admitted.
type sink struct {
	logr.LogSink
	// about is the cluster that the values of all lines name.
	about cluster
	lines *lines
}

// admit counts a line and reports whether to write it.
func (s sink) admit(message string, keysAndValues []any) bool {
	about, l := s.about.with(keysAndValues), s.lines
	if about == (cluster{}) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if now.Sub(l.began) >= period {
		for about, c := range l.counts {
			if c.leftOut > 0 {
				l.out.Info(0, leftOut, "namespace", about.namespace, "shoot", about.shoot, "webhook", about.webhook, "lines", c.leftOut)
			}
			if c.leftOut, c.written = 0, c.written.at(now); len(c.written) == 0 {
				delete(l.counts, about)
			}
		}
		l.began = now
	}
	c, known := l.counts[about]
	if !known {
		c = &count{alike: map[string]window{}}
		l.counts[about] = c
	}
	return c.admit(message, now)
}

// admit counts a line and reports whether to write it.
func (c *count) admit(message string, now time.Time) bool {
	c.written = c.written.at(now)
	maps.DeleteFunc(c.alike, func(message string, w window) bool {
		c.alike[message] = w.at(now)
		return len(c.alike[message]) == 0
	})
	if len(c.written) == maxLines || len(c.alike[message]) == maxAlike {
		c.leftOut++
		return false
	}
	c.written, c.alike[message] = append(c.written, now), append(c.alike[message], now)
	return true
}

// with returns the cluster that a line's values name, or this one.
func (c cluster) with(keysAndValues []any) cluster {
	for i := 1; i < len(keysAndValues); i += 2 {
		switch keysAndValues[i-1] {
		case "namespace":
			c.namespace = fmt.Sprint(keysAndValues[i])
		case "Shoot":
			c.shoot = fmt.Sprint(keysAndValues[i])
		case "webhook":
			c.webhook = fmt.Sprint(keysAndValues[i])
		}
	}
	return c
}

// Info implements logr.LogSink.
func (s sink) Info(level int, message string, keysAndValues ...any) {
	if s.admit(message, keysAndValues) {
		s.LogSink.Info(level, message, keysAndValues...)
	}
}

// Error implements logr.LogSink.
func (s sink) Error(err error, message string, keysAndValues ...any) {
	if s.admit(message, keysAndValues) {
		s.LogSink.Error(err, message, keysAndValues...)
	}
}

// WithValues implements logr.LogSink.
func (s sink) WithValues(keysAndValues ...any) logr.LogSink {
	return sink{s.LogSink.WithValues(keysAndValues...), s.about.with(keysAndValues), s.lines}
}

// WithName implements logr.LogSink.
func (s sink) WithName(name string) logr.LogSink {
	return sink{s.LogSink.WithName(name), s.about, s.lines}
}

// WithCallDepth implements logr.CallDepthLogSink.
func (s sink) WithCallDepth(depth int) logr.LogSink {
	return sink{deeper(s.LogSink, depth), s.about, s.lines}
}

func deeper(inner logr.LogSink, depth int) logr.LogSink {
	if deep, ok := inner.(logr.CallDepthLogSink); ok {
		return deep.WithCallDepth(depth)
	}
	return inner
}
