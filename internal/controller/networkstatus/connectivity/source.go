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
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
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

// record is what is remembered of a network. A restart of the operator loses it: results, and since
// when the shoot is unknown, are found again from the reports.
type record struct {
	memory    Memory
	published published
	// observed is when the shoot was observed last, and asked when it was asked for the kind of the
	// reports. lacks is whether it did not have it, and pause the time until it is asked again.
	observed, asked time.Time
	lacks           bool
	pause           time.Duration
}

// Watches declares the reports of the probes, and the nodes.
func Watches() []shootclient.Watch {
	return []shootclient.Watch{shootclient.Reports, shootclient.Nodes}
}

// Report implements source.Source. A network without probes has no report, nor has a hibernated
// one. What keeps the shoot from being observed is in the condition.
func (s *Source) Report(ctx context.Context, in source.Input) (source.Report, error) {
	network := client.ObjectKeyFromObject(in.Network)
	if in.Hibernated {
		s.Forget(network)
		return source.Report{}, nil
	}
	r, known := s.networks.Get(network)
	if !known {
		r = &record{}
		s.networks.Set(network, r)
	}
	evidence, err := r.gather(ctx, in)
	switch {
	case err != nil && r.lacks:
		metrics.ForgetConnectivity(network)
		return source.Report{RequeueAfter: kindPeriod}, nil
	case err == nil && evidence == nil:
		metrics.ForgetConnectivity(network)
		return source.Report{RequeueAfter: r.pause}, nil
	case err != nil && !in.Now.Before(r.observed.Add(outageThreshold)):
		if r.observed.IsZero() && condition.Get(in.Network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable) == nil {
			return source.Report{RequeueAfter: kindPeriod}, nil // it may have no probes
		}
		r.memory.tests = nil
		r.publish(in, unobserved(err))
		return r.published.report(period), nil
	case err != nil:
		return r.published.report(r.observed.Add(outageThreshold).Sub(in.Now)), nil
	}
	r.observed = in.Now
	var verdict Verdict
	verdict, r.memory = Examine(*evidence, r.memory, in.Now)
	r.publish(in, verdict)
	return r.published.report(verdict.Again), nil
}

// Forget implements source.Source.
func (s *Source) Forget(network types.NamespacedName) {
	s.networks.Delete(network)
	metrics.ForgetConnectivity(network)
}

func (r *record) publish(in source.Input, v Verdict) {
	r.published = r.published.next(v, in.Now)
	results := map[string]*bool{}
	if v.Tests != nil {
		for _, check := range checks {
			results[string(check)] = *field(&v.Tests.ConnectivityResults, check)
		}
	}
	metrics.Connectivity(client.ObjectKeyFromObject(in.Network), in.Network.Spec.Type, metrics.ConnectivityOf{
		Status: string(v.Status), Tests: results, Passing: v.Passing, Failing: v.Failing,
	})
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
	if r.lacks && in.Now.Sub(r.asked).Abs() < r.pause {
		return nil, nil
	}
	if r.lacks {
		r.asked = in.Now
	}
	err = shoot.Watch(ctx, shootclient.Reports.Kind, shootclient.Nodes.Kind)
	if r.lacks = meta.IsNoMatchError(err); r.lacks {
		*r = record{asked: in.Now, lacks: true, pause: min(max(firstKindPeriod, 2*r.pause), kindPeriod)}
		return nil, nil
	}
	r.pause = 0
	reports, nodes := &connectivityv1alpha1.NodeConnectivityList{}, &corev1.NodeList{}
	if err == nil {
		err = shoot.Reader.List(ctx, reports, client.UnsafeDisableDeepCopy)
	}
	if err == nil {
		err = shoot.Reader.List(ctx, nodes, client.UnsafeDisableDeepCopy)
	}
	if err == nil && len(reports.Items) == 0 && in.Now.Sub(r.asked).Abs() >= kindPeriod {
		r.asked = in.Now
		var lacks bool
		if lacks, err = shoot.Lacks(ctx, shootclient.Reports.Kind); lacks {
			*r = record{asked: in.Now, lacks: true, pause: kindPeriod}
			return nil, nil
		}
	}
	if err != nil {
		return nil, shoot.Failure(err)
	}
	return &Evidence{Reports: reports.Items, Nodes: nodes.Items}, nil
}
