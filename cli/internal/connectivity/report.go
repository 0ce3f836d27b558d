// SPDX-License-Identifier: Apache-2.0

// Package connectivity makes of the reports of a shoot's probes what people look at: a value with
// a stable JSON, text for a terminal, and a page. It does not read the reports itself. They are
// the shoot's: whatever they say, a report takes bounded room and controls neither terminal nor
// browser.
package connectivity

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// What is taken of the reports. The kind's schema has the same limits but the first; a shoot need
// not keep to it.
const (
	MaxNodes   = 5000 // Kubernetes itself supports no more
	maxChecks  = 10   // of a node
	maxResults = 8    // of a check
	maxName    = 253
	maxText    = 128
)

// staleAfter is the age from which a report shows only that there is no newer one.
const staleAfter = 2 * time.Minute

// Report is what the probes of a shoot have measured lately.
type Report struct {
	// Shoot is how users call the cluster.
	Shoot string `json:"shoot"`
	// Time is when the reports were read.
	Time metav1.Time `json:"time"`
	// Nodes are those with a report, and those that are the target of one; sorted by name.
	Nodes []Node `json:"nodes"`
	// Edges are the targets of recent reports, sorted by family, test, from, to and address.
	Edges []Edge `json:"edges"`
	// More reports whether there are more than MaxNodes reports, of which some were left out.
	More bool `json:"more,omitempty"`
}

// Node is a node with its probe.
type Node struct {
	Name string `json:"name"`
	// Reported is when the API server got the latest report. Absent without one.
	Reported *metav1.Time `json:"reported,omitempty"`
	// Stale reports whether there is no report, or one that is too old to say anything. Then Edges
	// has none from this node.
	Stale        bool   `json:"stale,omitempty"`
	ProbeVersion string `json:"probeVersion,omitempty"`
	// MTU of the interface of the probe's pod, and whether pods rely on proxy ARP of the node.
	MTU      int32 `json:"mtu,omitempty"`
	ProxyARP *bool `json:"proxyARP,omitempty"`
}

// Edge is a target that the probe on a node tests. The times are those of the API server's clock.
type Edge struct {
	Family  connectivityv1alpha1.IPFamily  `json:"family"`
	Test    connectivityv1alpha1.CheckType `json:"test"`
	From    string                         `json:"from"`
	To      string                         `json:"to"`
	Address string                         `json:"address"`
	// Failing reports whether the latest attempts failed; one alone does not count.
	Failing             bool         `json:"failing"`
	Attempts            int32        `json:"attempts"`
	Failures            int32        `json:"failures"`
	FailingSince        *metav1.Time `json:"failingSince,omitempty"`
	LastSuccess         *metav1.Time `json:"lastSuccess,omitempty"`
	Error               string       `json:"error,omitempty"`
	LatencyMicroseconds int32        `json:"latencyMicroseconds,omitempty"`
	FullSizePackets     *bool        `json:"fullSizePackets,omitempty"`
}

// The families and tests in the order in which they are shown.
var (
	families = []connectivityv1alpha1.IPFamily{connectivityv1alpha1.IPv4, connectivityv1alpha1.IPv6}
	tests    = []connectivityv1alpha1.CheckType{
		connectivityv1alpha1.CheckPods, connectivityv1alpha1.CheckNodes, connectivityv1alpha1.CheckServices,
		connectivityv1alpha1.CheckDNS, connectivityv1alpha1.CheckOutside,
	}
)

// Of makes a Report of the reports of a shoot that were read at a time.
func Of(shoot string, reports []connectivityv1alpha1.NodeConnectivity, now time.Time) *Report {
	r := &Report{Shoot: shoot, Time: metav1.NewTime(now), Nodes: []Node{}, Edges: []Edge{}}
	if len(reports) > MaxNodes {
		reports, r.More = reports[:MaxNodes], true
	}
	known := map[string]bool{}
	for i := range reports {
		r.add(&reports[i], now)
		known[reports[i].Name] = true
	}
	for i := range r.Edges {
		if e := &r.Edges[i]; e.isBetweenNodes() && !known[e.To] {
			known[e.To] = true
			r.Nodes = append(r.Nodes, Node{Name: e.To, Stale: true})
		}
	}
	slices.SortFunc(r.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Edges, func(a, b Edge) int {
		return cmp.Or(strings.Compare(string(a.Family), string(b.Family)), slices.Index(tests, a.Test)-slices.Index(tests, b.Test),
			strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(a.Address, b.Address))
	})
	return r
}

// Fails reports whether a target fails, or a node has no recent report.
func (r *Report) Fails() bool {
	return slices.ContainsFunc(r.Edges, func(e Edge) bool { return e.Failing }) ||
		slices.ContainsFunc(r.Nodes, func(n Node) bool { return n.Stale })
}

func (r *Report) add(of *connectivityv1alpha1.NodeConnectivity, now time.Time) {
	report := &of.Report
	received := receivedAt(of)
	node := Node{Name: cut(of.Name, maxName), Reported: &received, ProbeVersion: cut(report.ProbeVersion, maxText)}
	node.Stale = now.Sub(received.Time) > staleAfter
	if on := report.PodInterface; on != nil {
		node.MTU, node.ProxyARP = max(on.MTU, 0), on.ProxyARP
	}
	r.Nodes = append(r.Nodes, node)
	if node.Stale {
		return
	}
	ahead := received.Sub(report.Time.Time) // how far the API server's clock is ahead of the node's
	for _, check := range report.Checks[:min(len(report.Checks), maxChecks)] {
		if !slices.Contains(families, check.Family) || !slices.Contains(tests, check.Type) {
			continue
		}
		for _, result := range check.Results[:min(len(check.Results), maxResults)] {
			r.Edges = append(r.Edges, Edge{
				Family: check.Family, Test: check.Type, From: node.Name, To: cut(result.Name, maxName), Address: cut(result.Address, maxText),
				Failing:  result.ConsecutiveFailures >= connectivityv1alpha1.FailingThreshold,
				Attempts: max(result.Attempts, 0), Failures: max(result.Failures, 0),
				FailingSince: shifted(result.FailingSince, ahead), LastSuccess: shifted(result.LastSuccess, ahead),
				Error: cut(result.Error, maxText), LatencyMicroseconds: max(result.LatencyMicroseconds, 0), FullSizePackets: result.FullSizePackets,
			})
		}
	}
}

// receivedAt returns when the API server got a report, by its own clock.
func receivedAt(of *connectivityv1alpha1.NodeConnectivity) metav1.Time {
	at := of.CreationTimestamp
	for _, entry := range of.ManagedFields {
		if entry.Time != nil && entry.Time.After(at.Time) {
			at = *entry.Time
		}
	}
	return at
}

func shifted(at *metav1.Time, by time.Duration) *metav1.Time {
	if at == nil {
		return nil
	}
	then := metav1.NewTime(at.Add(by))
	return &then
}

// isBetweenNodes reports whether the target is a node, or its probe.
func (e *Edge) isBetweenNodes() bool {
	return e.Test == connectivityv1alpha1.CheckPods || e.Test == connectivityv1alpha1.CheckNodes
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
