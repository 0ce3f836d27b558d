// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/trellis-network/trellis/sandbox/internal/imagearchive"
	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// RealNodes describes the real nodes of all shoots that have any.
type RealNodes struct {
	// Layout is that of the nodes of a shoot, but for their number.
	Layout plan.Layout
	// Programs are the programs and images of nodes.
	Programs *nodeprograms.Programs
	// Images are archives with further images, as absolute paths.
	Images []string
	// Registries are those that nodes reach wherever they are.
	Registries []plan.Registry
}

// realFlags are the flags that only real nodes have.
type realFlags struct {
	set        *pflag.FlagSet
	programs   string
	images     []string
	registries []string
	subnets    int
	families   string
}

// NeedRoot is why only root can run real nodes.
const NeedRoot = "real nodes need root, since they have namespaces and mounts of their own"

const (
	programsFlag = "node-programs"
	imageFlag    = "image"
	registryFlag = "registry"
	subnetsFlag  = "subnets"
	familiesFlag = "ip-families"
)

func (f *realFlags) addTo(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.programs, programsFlag, "", "`directory` with the programs and images of real nodes (default: the last one that make real-nodes printed)")
	set.StringArrayVar(&f.images, imageFlag, nil, "an `archive` with images that real nodes import; may be repeated")
	set.StringArrayVar(&f.registries, registryFlag, nil, "a registry that real nodes reach though it is not public, as `HOST[:PORT][=ADDRESS:PORT]`; may be repeated")
	set.IntVar(&f.subnets, subnetsFlag, 1, "network segments of real nodes, with a router between them")
	set.StringVar(&f.families, familiesFlag, "IPv4", "IP `families` of shoots with real nodes: IPv4, IPv6, or both with a comma, the primary one first")
}

// parse reads the flags if some nodes are real ones, and rejects them if none are. ofAll is the
// value of --nodes.
func (f *realFlags) parse(some bool, ofAll string) (*RealNodes, []error) {
	var errs []error
	if !some {
		for _, name := range []string{programsFlag, imageFlag, registryFlag, subnetsFlag, familiesFlag} {
			if f.set.Changed(name) {
				errs = append(errs, Invalidf("--%s is for real nodes, but all nodes are simulated; write --nodes %s%s, or leave it out", name, real, ofAll))
			}
		}
		return nil, errs
	}
	if f.subnets < 1 || f.subnets > plan.MaxSubnets {
		errs = append(errs, Invalidf("--%s %d: there are from 1 to %d", subnetsFlag, f.subnets, plan.MaxSubnets))
	}
	nodes := &RealNodes{Layout: plan.Layout{Subnets: f.subnets}}
	switch f.families {
	case "IPv4":
		nodes.Layout.IPv4 = true
	case "IPv6":
		nodes.Layout.IPv6 = true
	case "IPv4,IPv6":
		nodes.Layout.IPv4, nodes.Layout.IPv6 = true, true
	case "IPv6,IPv4":
		nodes.Layout.IPv4, nodes.Layout.IPv6, nodes.Layout.IPv6First = true, true, true
	default:
		errs = append(errs, Invalidf("--%s %q: write IPv4, IPv6, IPv4,IPv6 or IPv6,IPv4", familiesFlag, f.families))
	}
	for _, archive := range f.images {
		// The processes that read it have other working directories.
		absolute, err := filepath.Abs(archive)
		if err == nil {
			err = imagearchive.Check(absolute)
		}
		if err != nil {
			errs = append(errs, Invalidf("--%s %s: %v", imageFlag, archive, err))
		}
		nodes.Images = append(nodes.Images, absolute)
	}
	for _, text := range f.registries {
		registry, err := parseRegistry(text)
		if err != nil {
			errs = append(errs, err)
		}
		nodes.Registries = append(nodes.Registries, registry)
	}
	var err error
	if nodes.Programs, err = readPrograms(f.programs); err != nil {
		errs = append(errs, err)
	}
	return nodes, errs
}

// parseRegistry reads HOST[:PORT][=ADDRESS:PORT].
func parseRegistry(text string) (plan.Registry, error) {
	name, address, at := strings.Cut(text, "=")
	if _, _, err := net.SplitHostPort(name); err != nil {
		name = net.JoinHostPort(strings.Trim(name, "[]"), "443")
	}
	for part, value := range map[string]string{"name": name, "address": address} {
		if part == "address" && !at {
			continue
		}
		host, port, err := net.SplitHostPort(value)
		if number, notNumber := strconv.ParseUint(port, 10, 16); err != nil || host == "" || notNumber != nil || number == 0 {
			return plan.Registry{}, Invalidf("--%s %q: the %s %q is no host with a port; write HOST, HOST:PORT, or HOST:PORT=ADDRESS:PORT", registryFlag, text, part, value)
		}
	}
	return plan.Registry{Name: name, Address: address}, nil
}
