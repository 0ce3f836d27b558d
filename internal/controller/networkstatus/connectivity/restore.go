// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"encoding/json"
	"time"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// restore returns what an operator that starts knows of a network: what its status states, as if it
// had been observed just now. Neither a shoot that does not answer the first request, nor reports
// that look old since the clocks of their nodes are behind, then turn a result at once.
func restore(network *extensionsv1alpha1.Network, now time.Time) *record {
	is := condition.Get(network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable)
	if is == nil || is.Status == "" {
		return &record{}
	}
	stated := extensionsv1alpha1.NetworkObservations{}
	if raw := network.Status.ProviderStatus; raw != nil && json.Unmarshal(raw.Raw, &stated) != nil {
		stated = extensionsv1alpha1.NetworkObservations{}
	}
	v := Verdict{Status: is.Status, Reason: is.Reason, Message: is.Message, Tests: stated.ConnectivityTests}
	if stated.NetworkModules != nil {
		v.ARPProxy = stated.NetworkModules.ARPProxy
	}
	memory := Memory{tests: map[test]settled{}, keptUntil: now.Add(restartPeriod)}
	if v.Tests != nil {
		if v.Tests.Summary == nil {
			v.Tests.Summary = &extensionsv1alpha1.ConnectivitySummary{}
		}
		memory.latest = v.Tests.Summary.Evidence.Time
		memory.tests = resultsOf(v.Tests, network.Spec.IPFamilies)
		v.results = memory.tests
	}
	return &record{memory: memory, observed: now, published: published{
		verdict: v, changed: now.Add(restartPeriod - writePeriod), paid: is.LastUpdateTime.Add(writePeriod),
	}}
}

// resultsOf returns the results of a status. Without results of each family they are those of the
// first.
func resultsOf(stated *extensionsv1alpha1.ConnectivityTests, families []extensionsv1alpha1.IPFamily) map[test]settled {
	each := stated.Families
	if len(each) == 0 {
		first := extensionsv1alpha1.IPv4
		if len(families) > 0 {
			first = families[0]
		}
		each = map[extensionsv1alpha1.IPFamily]extensionsv1alpha1.ConnectivityResults{first: stated.ConnectivityResults}
	}
	results := map[test]settled{}
	for family, of := range each {
		for _, check := range checks {
			if result := *field(&of, check); result != nil {
				results[test{connectivityv1alpha1.IPFamily(family), check}] = settled{result: result}
			}
		}
	}
	return results
}
