// SPDX-License-Identifier: Apache-2.0

// Package options reads and validates the command line. It does not start
// clusters, and imports no large packages.
package options

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// minTimeout is shorter than any machine needs, so a smaller value is a typing error.
const minTimeout = time.Second

// Up is what `trellis-sandbox up` starts. Only Flags.Up makes one, so it is always
// valid.
type Up struct {
	Shoots []Shoot
	// Real describes real nodes. It is nil if no shoot has any.
	Real  *RealNodes
	Users []User
	// Authentication is the file with the AuthenticationConfiguration of the seed's API server.
	// Empty means that the API server trusts nothing but its own tokens and certificates.
	Authentication string
	// AuditPolicy is the file with the audit policy of all API servers, which then write an audit
	// log. Empty means that they write none.
	AuditPolicy string
	// Network holds the IPv4 ranges, which the seed has too.
	Network Network
	// Dir is the directory of the sandbox. If it is empty, the sandbox makes a
	// temporary one.
	Dir string
	// Timeout limits the time until the sandbox is ready.
	Timeout time.Duration
	// Detach starts a sandbox that outlives the command.
	Detach bool
	// IgnoreMemory starts the sandbox even if too little memory is available.
	IgnoreMemory bool
}

// ShootNetwork holds the ranges of a shoot.
func (u Up) ShootNetwork(of Shoot) Network {
	if !of.Real {
		return u.Network
	}
	return u.Network.withFamilies(u.Real.Layout)
}

// NodeCounts returns how many nodes all shoots have, and how many of them are real.
func (u Up) NodeCounts() (all, realOnes int) {
	for _, shoot := range u.Shoots {
		all += shoot.Count
		if shoot.Real {
			realOnes += shoot.Count
		}
	}
	return all, realOnes
}

// Flags are the flags of `trellis-sandbox up` as the user wrote them.
type Flags struct {
	shoots       []string
	unnamed      int
	nodes        string
	real         realFlags
	users        []string
	authenticate string
	audit        string
	pods         string
	services     string
	dir          string
	timeout      time.Duration
	detach       bool
	ignoreMemory bool
}

// AddTo defines the flags in set.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringArrayVar(&f.shoots, "shoot", nil, "a shoot cluster to run, as `NAMESPACE/NAME`, or NAMESPACE/NAME=NODES with its own number of nodes; may be repeated")
	set.IntVar(&f.unnamed, "shoots", 0, "run `N` more shoots, named "+UnnamedNamespace+"/shoot-1 and so on (default: 1 if --nodes are real and there is no --shoot)")
	set.StringVar(&f.nodes, "nodes", "1", "`N` simulated nodes in each shoot, or real:N real ones (root only)")
	f.real.addTo(set)
	set.StringArrayVar(&f.users, "user", nil, "make a client certificate without rights for the seed, as `NAME[=GROUP,GROUP]`; may be repeated")
	set.StringVar(&f.authenticate, "authentication-config", "", "`file` with the AuthenticationConfiguration of the seed's API server, such as issuers of tokens that it trusts")
	set.StringVar(&f.audit, "audit-policy", "", "`file` with the audit policy of all API servers, which then write audit.log beside their logs")
	set.StringVar(&f.pods, "pod-cidr", DefaultPodCIDR, "pod `range` of every shoot")
	set.StringVar(&f.services, "service-cidr", DefaultServiceCIDR, "service `range` of every shoot")
	set.StringVar(&f.dir, "dir", "", "`directory` to keep data, logs and kubeconfigs in (default: a temporary one, removed at the end)")
	set.DurationVar(&f.timeout, "timeout", 3*time.Minute, "how long the start may take")
	set.BoolVar(&f.detach, "detach", false, "return once everything is ready, and run in the background until \"trellis-sandbox down\"")
	set.BoolVar(&f.ignoreMemory, "ignore-memory", false, "start even if too little memory is available")
}

// Up validates the flags. Its error has everything that is wrong, not only the
// first mistake.
func (f *Flags) Up() (Up, error) {
	nodes, nodesErr := parseNodes(f.nodes, "--nodes "+f.nodes)
	unnamed := f.unnamed
	if nodes.Real && unnamed == 0 && len(f.shoots) == 0 {
		unnamed = 1 // nodes are those of shoots
	}
	shoots, shootErrs := parseShoots(f.shoots, unnamed, nodes)
	users, userErrs := parseUsers(f.users)
	network, networkErrs := parseNetwork(f.pods, f.services)
	authentication, authenticationErr := parseFile("--authentication-config", f.authenticate)
	audit, auditErr := parseFile("--audit-policy", f.audit)
	hasReal := nodes.Real || slices.ContainsFunc(shoots, func(s Shoot) bool { return s.Real })
	real, errs := f.real.parse(hasReal, f.nodes)
	errs = append(compact(nodesErr, authenticationErr, auditErr), errs...)
	for _, shoot := range append([]Shoot{{Nodes: nodes}}, shoots...) {
		if len(errs) == 0 && len(networkErrs) == 0 {
			errs = compact(network.checkRoom(shoot.Count))
		}
	}
	if f.timeout < minTimeout {
		errs = append(errs, Invalidf("--timeout %s: allow at least %s; a start takes from 10 seconds to a minute", f.timeout, minTimeout))
	}
	errs = append(append(append(errs, shootErrs...), userErrs...), networkErrs...)
	if len(errs) > 0 {
		return Up{}, errors.Join(errs...)
	}
	return Up{
		Shoots:         shoots,
		Real:           real,
		Users:          users,
		Authentication: authentication,
		AuditPolicy:    audit,
		Network:        network,
		Dir:            f.dir,
		Timeout:        f.timeout,
		Detach:         f.detach,
		IgnoreMemory:   f.ignoreMemory,
	}, nil
}

// parseFile returns the absolute path of a file, or nothing if the flag is not given.
func parseFile(flag, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	absolute, err := filepath.Abs(name)
	if err != nil {
		return "", Invalidf("%s %s: %v", flag, name, err)
	}
	if info, err := os.Stat(absolute); err != nil || !info.Mode().IsRegular() {
		return "", Invalidf("%s %s: there is no such file", flag, name)
	}
	return absolute, nil
}
