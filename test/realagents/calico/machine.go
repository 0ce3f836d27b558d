// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// packagesFile names the packages of Debian that agents are built with, or whose tools are in
// their images, one a line.
const packagesFile = "test/realcalico/debian-packages"

// kernelParts are parts of the kernel that agents need, with a command that needs just them. It
// runs in a network namespace that ends with it.
var kernelParts = []struct{ name, try string }{
	{"vxlan", "ip link add x type vxlan id 4096 dstport 4789"},
	{"veth", "ip link add x type veth peer name y"},
	{"ip_set", "ipset create x hash:net"},
	{"nf_tables with xt_set", "ipset create x hash:net && iptables-nft -A OUTPUT -m set --match-set x dst -j ACCEPT"},
	{"IPv6 in nf_tables", "ip6tables-nft -A OUTPUT -j ACCEPT"},
	{"xt_mark and xt_conntrack", "iptables-nft -A OUTPUT -m conntrack --ctstate NEW -j MARK --set-mark 1"},
}

// checkMachine returns an error that names all that this machine lacks.
func checkMachine() error {
	missing, err := missingPackages()
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		err = fmt.Errorf("tools are missing: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	if os.Geteuid() != 0 {
		return errors.Join(err, errors.New("real nodes need root: run this as root"))
	}
	if len(missing) > 0 {
		return err
	}
	for _, part := range kernelParts {
		try := exec.Command("sh", "-c", part.try)
		try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if output, failed := try.CombinedOutput(); failed != nil {
			err = errors.Join(err, fmt.Errorf("the kernel lacks %s: %s: %s", part.name, part.try, strings.TrimSpace(string(output))))
		}
	}
	return err
}

// missingPackages returns the packages of packagesFile that are not installed.
func missingPackages() ([]string, error) {
	wanted, versions, err := packages()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(wanted, func(name string) bool { return versions[name] != "" }), nil
}

// packages returns the packages of packagesFile, and the versions of those that are installed.
func packages() (wanted []string, versions map[string]string, err error) {
	content, err := os.ReadFile(packagesFile)
	if err != nil {
		return nil, nil, err
	}
	wanted = strings.Fields(string(content))
	output, err := exec.Command("dpkg-query", slices.Concat(
		[]string{"--show", "--showformat", "${binary:Package} ${db:Status-Status} ${Version}\n"}, wanted)...).Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil, fmt.Errorf("agents are built with Debian's packages %s, and this is no Debian: there is no dpkg-query", strings.Join(wanted, " "))
	}
	// A status of 1 is that a package is not known, which is then missing in the output.
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, nil, fmt.Errorf("ask dpkg-query for packages: %w", err)
	}
	versions = map[string]string{}
	for line := range strings.Lines(string(output)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[1] == "installed" {
			name, _, _ := strings.Cut(fields[0], ":")
			versions[name] = fields[2]
		}
	}
	return wanted, versions, nil
}
