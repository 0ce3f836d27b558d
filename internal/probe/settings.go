// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"
	"time"
)

// Settings are what a probe is started with.
type Settings struct {
	// Node is the name of the node, which the report gets.
	Node string
	// Namespace and Service are those of the probes' Service.
	Namespace, Service string
	// PodIPs are the addresses of the probe's pod, one for each family.
	PodIPs []netip.Addr
	// HostIPs are the addresses of its node.
	HostIPs []netip.Addr
	// Port is where all probes listen, TCP and UDP.
	Port uint16
	// KubeletPort is the port of nodes that CheckNodes connects to.
	KubeletPort uint16
	// Peers is the number of nodes that are tested for as long as the nodes stay the same.
	Peers int
	// Outside is a target host:port outside of the cluster, or empty.
	Outside string
	// Interval is the time between two attempts to reach a target. It is also the least time
	// between two reports, and between two reads of the peers because one fails.
	Interval time.Duration
	// ReportInterval is the time after which a report without news is sent.
	ReportInterval time.Duration
	// Version of the program.
	Version string
}

// DNS is what the resolv.conf of the pod states.
type DNS struct {
	// Servers are the addresses of the DNS servers.
	Servers []netip.Addr
	// Name is the fully qualified name of the probes' Service.
	Name string
}
