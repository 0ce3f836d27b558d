// Package options reads what the command line asks for and refuses what cannot
// be had. It knows nothing of how clusters are run, and imports nothing heavy.
package options

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

const (
	// MaxNodes bounds the nodes of one shoot.
	MaxNodes = 1000
	// minTimeout is less than any machine needs; below it is a slip of the pen.
	minTimeout = time.Second
)

// Up says what `trellis-sandbox up` is to start. It is valid by construction:
// only Flags.Up makes one.
type Up struct {
	Shoots  []Shoot
	Nodes   int
	Users   []User
	Network Network
	// Dir is where to keep everything; empty means a temporary directory.
	Dir string
	// Timeout bounds how long getting ready may take.
	Timeout time.Duration
	// Detach asks for a sandbox that outlives the command.
	Detach bool
	// IgnoreMemory starts even when too little memory seems to be free.
	IgnoreMemory bool
}

// Flags are the flags of `trellis-sandbox up` as they were written.
type Flags struct {
	shoots       []string
	unnamed      int
	nodes        int
	users        []string
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
	set.StringArrayVar(&f.shoots, "shoot", nil, "a shoot cluster to run, as `NAMESPACE/NAME`; may be repeated")
	set.IntVar(&f.unnamed, "shoots", 0, "run `N` shoots more, named "+UnnamedNamespace+"/shoot-1 and so on")
	set.IntVar(&f.nodes, "nodes", 1, "simulated nodes in each shoot")
	set.StringArrayVar(&f.users, "user", nil, "make a client certificate without rights for the seed, as `NAME[=GROUP,GROUP]`; may be repeated")
	set.StringVar(&f.pods, "pod-cidr", DefaultPodCIDR, "pod `range` of every shoot")
	set.StringVar(&f.services, "service-cidr", DefaultServiceCIDR, "service `range` of every shoot")
	set.StringVar(&f.dir, "dir", "", "`directory` to keep data, logs and kubeconfigs in (default: a temporary one, removed at the end)")
	set.DurationVar(&f.timeout, "timeout", 3*time.Minute, "how long getting ready may take")
	set.BoolVar(&f.detach, "detach", false, "return once everything is ready, and go on in the background until \"trellis-sandbox down\"")
	set.BoolVar(&f.ignoreMemory, "ignore-memory", false, "start even if too little memory seems to be free")
}

// Up checks the flags. Its error names everything that is wrong, not only the
// first thing.
func (f *Flags) Up() (Up, error) {
	shoots, shootErrs := parseShoots(f.shoots, f.unnamed)
	users, userErrs := parseUsers(f.users)
	network, networkErrs := parseNetwork(f.pods, f.services)

	var errs []error
	if f.nodes < 0 || f.nodes > MaxNodes {
		errs = append(errs, Invalidf("--nodes %d: a shoot has from 0 to %d nodes", f.nodes, MaxNodes))
	} else if len(networkErrs) == 0 {
		errs = compact(network.checkRoom(f.nodes))
	}
	if f.timeout < minTimeout {
		errs = append(errs, Invalidf("--timeout %s: allow at least %s; getting ready takes from 10 seconds to a minute", f.timeout, minTimeout))
	}
	errs = append(append(append(errs, shootErrs...), userErrs...), networkErrs...)
	if len(errs) > 0 {
		return Up{}, errors.Join(errs...)
	}
	return Up{
		Shoots:       shoots,
		Nodes:        f.nodes,
		Users:        users,
		Network:      network,
		Dir:          f.dir,
		Timeout:      f.timeout,
		Detach:       f.detach,
		IgnoreMemory: f.ignoreMemory,
	}, nil
}
