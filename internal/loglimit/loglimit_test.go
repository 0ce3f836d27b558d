// SPDX-License-Identifier: Apache-2.0

package loglimit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"

	"github.com/trellis-network/trellis/test/harness"
)

// A shoot that fails without end neither fills the log nor hides what is told about others.
func TestLinesAboutOneClusterAreLimited(t *testing.T) {
	const failed = "Reconciler error"
	g, clock, log := NewWithT(t), testclock.NewFakePassiveClock(time.Now()), &harness.Lines{}
	logger := Limit(log.Logger(), clock)
	about := func(namespace, name string) logr.Logger {
		return logger.WithValues("controller", "managedresource").WithName("x").WithValues("namespace", namespace, "name", name)
	}
	written := func(message string) int { return len(log.With(message)) }
	for i := range 100 {
		about("shoot--dev--hostile", fmt.Sprintf("bundle-%d", i)).Error(errors.New("refused"), failed)
	}
	g.Expect(written(failed)).To(Equal(maxAlike))
	about("shoot--dev--other", "bundle-1").Error(errors.New("refused"), failed)
	g.Expect(written(failed)).To(Equal(maxAlike+1), "lines about others are written")
	logger.Info("Something else", "namespace", "shoot--dev--hostile")
	g.Expect(written("Something else")).To(Equal(1), "so are other lines about the same")
	news := 0
	for i := range 100 {
		message := fmt.Sprintf("Something new %d", i)
		logger.Info(message, "namespace", "shoot--dev--hostile")
		news += written(message)
	}
	g.Expect(news).To(Equal(maxLines-maxAlike-1), "but not without end")

	for _, name := range []string{"one", "two"} {
		for range 10 {
			about("garden-dev", name).WithValues("Shoot", "garden-dev/"+name).Info("Shoot fails")
		}
	}
	g.Expect(written("Shoot fails")).To(Equal(2*maxAlike), "two Shoots of one namespace are two clusters")
	for range 10 {
		logger.Info("Starting")
	}
	g.Expect(written("Starting")).To(Equal(10), "what is about no cluster is not limited")
	g.Expect(written(leftOut)).To(BeZero())

	clock.SetTime(clock.Now().Add(period))
	about("shoot--dev--other", "bundle-1").Error(errors.New("refused"), failed)
	g.Expect(written(failed)).To(Equal(maxAlike + 2))
	g.Expect(log.With(leftOut)).To(ContainElement(ContainSubstring(`"shoot"="" "webhook"="" "lines"=192`)))
	g.Expect(written(leftOut)).To(Equal(3))
}

func TestALoggerWithoutSinkStaysOne(t *testing.T) {
	NewWithT(t).Expect(Limit(logr.Logger{}, testclock.NewFakePassiveClock(time.Now())).IsZero()).To(BeTrue())
}

// Any cluster can send requests to a webhook.
func TestLinesAboutAWebhookAreLimited(t *testing.T) {
	g, log := NewWithT(t), harness.Lines{}
	logger := Limit(log.Logger(), testclock.NewFakePassiveClock(time.Now()))
	for range 100 {
		logger.WithValues("webhook", "example").Error(errors.New("broken"), "unable to decode the request")
	}
	g.Expect(log.With("unable to decode the request")).To(HaveLen(maxAlike))
}

// Whenever a minute begins, it has no more lines.
func TestNoMinuteHasMoreLines(t *testing.T) {
	g, clock, log := NewWithT(t), testclock.NewFakePassiveClock(time.Now()), &harness.Lines{}
	logger := Limit(log.Logger(), clock).WithValues("namespace", "shoot--dev--hostile")
	var written []int // until each second
	for second := range 300 {
		for i := range 20 {
			logger.Info(fmt.Sprintf("Message %d", i))
		}
		written = append(written, strings.Count(log.String(), "shoot--dev--hostile"))
		if second >= 60 {
			g.Expect(written[second] - written[second-60]).To(BeNumerically("<=", maxLines+1))
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
	g.Expect(written[299]).To(BeNumerically(">=", 4*maxLines), "each minute has lines")
}
