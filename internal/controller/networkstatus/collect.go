// SPDX-License-Identifier: Apache-2.0

package networkstatus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/json"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// answer is what one source reports of a Network, or its error.
type answer struct {
	*source.Registration
	report source.Report
	// providerStatus is the report's as JSON values.
	providerStatus map[string]any
	err            error
}

// collect returns the answers of all sources, which observe at the same time, so that none
// waits for another.
func (r *reconciler) collect(ctx context.Context, in source.Input) []answer {
	ctx, cancel := context.WithTimeout(ctx, max(r.options.Period, minTimeout))
	defer cancel()
	answers := make([]answer, len(r.sources))
	var running sync.WaitGroup
	for i := range r.sources {
		running.Go(func() { answers[i] = collectOne(ctx, &r.sources[i], in) })
	}
	running.Wait()
	return answers
}

func collectOne(ctx context.Context, s *source.Registration, in source.Input) (a answer) {
	a.Registration = s
	defer func() {
		if panicked := recover(); panicked != nil {
			a.err = fmt.Errorf("panic: %v", panicked)
			logf.FromContext(ctx).Error(a.err, "A source of the status panicked", "source", s.Name, "stack", string(debug.Stack()))
		}
	}()
	if a.report, a.err = s.Source.Report(ctx, in); a.err == nil {
		a.err = a.check()
	}
	return a
}

// check returns an error if the report states something that the source does not own,
// or that is no JSON.
func (a *answer) check() error {
	for i := range a.report.Conditions {
		if conditionType := a.report.Conditions[i].Type; !slices.Contains(a.Conditions, conditionType) {
			return fmt.Errorf("the condition %s does not belong to this source", conditionType)
		}
	}
	for key := range a.report.ProviderStatus {
		if !slices.Contains(a.ProviderStatus, key) {
			return fmt.Errorf("providerStatus.%s does not belong to this source", key)
		}
	}
	raw, err := json.Marshal(a.report.ProviderStatus)
	if err != nil {
		return fmt.Errorf("encode the providerStatus: %w", err)
	}
	a.providerStatus = map[string]any{}
	return json.Unmarshal(raw, &a.providerStatus)
}

// failure joins the errors of the sources.
func failure(answers []answer) error {
	var errs []error
	for i := range answers {
		if err := answers[i].err; err != nil {
			errs = append(errs, fmt.Errorf("the source %s: %w", answers[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// shoot returns a function that connects to the shoot of a control-plane namespace when
// it is called first. Its API server must have answered within half a period: while it
// hangs, caches keep what they have.
func (r *reconciler) shoot(namespace string) func(context.Context) (*shootclient.Shoot, error) {
	var once sync.Once
	var shoot *shootclient.Shoot
	var err error
	return func(ctx context.Context) (*shootclient.Shoot, error) {
		once.Do(func() {
			if shoot, err = r.options.Clients.For(ctx, namespace); err == nil {
				err = shoot.Confirm(ctx, r.options.Period/2)
			}
		})
		return shoot, err
	}
}
