// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// Source reports the connectivity of networks that have probes. The zero Source is ready to use.
type Source struct {
	networks keyed.Map[types.NamespacedName, *record]
}

var _ source.Source = &Source{}

// record is what is remembered of a network.
type record struct {
	memory    Memory
	published published
	kind      kind
	// observed is when the shoot was observed last; zero if it never was.
	observed time.Time
}

// Watches declares the reports of the probes, and the nodes.
func Watches() []shootclient.Watch {
	return []shootclient.Watch{shootclient.Reports, shootclient.Nodes}
}

// Report implements source.Source. A network without probes has no report, nor has a hibernated
// one. What keeps the shoot from being observed is in the condition.
func (s *Source) Report(ctx context.Context, in source.Input) (source.Report, error) {
	network := client.ObjectKeyFromObject(in.Network)
	if in.Hibernated || in.WithoutProbes {
		s.Forget(network)
		return source.Report{}, nil
	}
	r, known := s.networks.Get(network)
	if !known {
		r = restore(in.Network, in.Now)
		s.networks.Set(network, r)
	}
	evidence, err := r.gather(ctx, in)
	switch {
	case r.kind.lacking:
		metrics.ForgetConnectivity(network)
		return source.Report{RequeueAfter: r.kind.pause}, nil
	case err != nil && r.observed.IsZero():
		return source.Report{RequeueAfter: kindPeriod}, nil // it may have no probes
	case err != nil && in.Now.Before(r.observed.Add(outageThreshold)):
		return r.published.report(r.observed.Add(outageThreshold).Sub(in.Now)), nil
	case err != nil:
		r.memory.tests = nil
		return r.publish(in, unobserved(err)), nil
	}
	r.observed = in.Now
	var verdict Verdict
	r.memory.told = r.published.verdict.results
	verdict, r.memory = Examine(*evidence, r.memory, in.Now)
	return r.publish(in, verdict), nil
}

// Forget implements source.Source.
func (s *Source) Forget(network types.NamespacedName) {
	s.networks.Delete(network)
	metrics.ForgetConnectivity(network)
}

// publish states a verdict in metrics, and returns what the status must have now.
func (r *record) publish(in source.Input, v Verdict) source.Report {
	results := map[string]*bool{}
	if v.Tests != nil {
		for _, check := range checks {
			results[string(check)] = *field(&v.Tests.ConnectivityResults, check)
		}
	}
	metrics.Connectivity(client.ObjectKeyFromObject(in.Network), in.Network.Spec.Type, metrics.ConnectivityOf{
		Status: string(v.Status), Tests: results, Passing: v.Passing, Failing: v.Failing,
	})
	again := deadline(v.Again)
	var due time.Duration
	r.published, due = r.published.next(v, in.Now)
	again.after(due)
	return r.published.report(time.Duration(again))
}

// unobserved is the verdict about a shoot that cannot be observed.
func unobserved(err error) Verdict {
	return Verdict{Status: corev1beta1.ConditionUnknown, Reason: ReasonUnreachable, Message: fmt.Sprintf("The connectivity is unknown: %v", err), Again: period}
}

// gather reads the evidence from the shoot's cache. It returns nothing for a shoot that has no
// reports since it does not have their kind.
func (r *record) gather(ctx context.Context, in source.Input) (*Evidence, error) {
	shoot, err := in.Shoot(ctx)
	if err != nil {
		return nil, err
	}
	if r.kind.waits(in.Now) {
		return nil, nil
	}
	err = shoot.Watch(ctx, shootclient.Reports.Kind, shootclient.Nodes.Kind)
	if meta.IsNoMatchError(err) {
		*r = record{kind: r.kind.absent(in.Now)}
		return nil, nil
	}
	r.kind.lacking = false
	reports, nodes := &connectivityv1alpha1.NodeConnectivityList{}, &corev1.NodeList{}
	if err == nil {
		err = shoot.Reader.List(ctx, reports, client.UnsafeDisableDeepCopy)
	}
	if err == nil {
		err = shoot.Reader.List(ctx, nodes, client.UnsafeDisableDeepCopy)
	}
	if err == nil && len(reports.Items) == 0 && r.kind.mayBeGone(in.Now) {
		var lacks bool
		if lacks, err = shoot.Lacks(ctx, shootclient.Reports.Kind); lacks {
			*r = record{kind: r.kind.absent(in.Now)}
			return nil, nil
		}
	}
	if err != nil {
		return nil, shoot.Failure(err)
	}
	return &Evidence{Reports: reports.Items, Nodes: nodes.Items}, nil
}
