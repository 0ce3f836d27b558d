// SPDX-License-Identifier: Apache-2.0

// Package subnetenv reads the file that flannel's daemon writes on its node for the CNI
// plugin, usually /run/flannel/subnet.env.
package subnetenv

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// DefaultPath is where flannel's daemon writes the file.
const DefaultPath = "/run/flannel/subnet.env"

// maxSize is the largest file that is read. The daemon writes six lines.
const maxSize = 4 << 10

// Family is what the file says of one IP family.
type Family struct {
	// Network is the range of all pods.
	Network netip.Prefix
	// Subnet is the range of the node's pods. Its address is the first one of the range,
	// which the node itself has.
	Subnet netip.Prefix
}

// File is the content of the file.
type File struct {
	// Families has one entry for each IP family of the pod network, IPv4 first. It is never
	// empty.
	Families []Family
	// MTU is that of pods, in bytes.
	MTU int
	// IPMasq reports whether the daemon masquerades packets that leave the pod network.
	IPMasq bool
}

// Read reads the file at a path. Its error wraps fs.ErrNotExist if there is none.
func Read(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(content) > maxSize {
		return nil, fmt.Errorf("%s has more than %d bytes: flannel's daemon did not write it", path, maxSize)
	}
	parsed, err := parse(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parsed, nil
}

func parse(content string) (*File, error) {
	values := map[string]string{}
	for line := range strings.Lines(content) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = value
		}
	}
	f := &File{}
	for _, family := range []struct {
		prefix string
		is     func(netip.Addr) bool
	}{{"FLANNEL_", netip.Addr.Is4}, {"FLANNEL_IPV6_", netip.Addr.Is6}} {
		network, subnet := values[family.prefix+"NETWORK"], values[family.prefix+"SUBNET"]
		if network == "" && subnet == "" {
			continue
		}
		read := func(key, value string) (netip.Prefix, error) {
			prefix, err := netip.ParsePrefix(value)
			if err != nil || !family.is(prefix.Addr()) {
				return prefix, fmt.Errorf("%s%s is %.50q, and not a range of this IP family", family.prefix, key, value)
			}
			return prefix, nil
		}
		n, networkErr := read("NETWORK", network)
		s, subnetErr := read("SUBNET", subnet)
		if err := errors.Join(networkErr, subnetErr); err != nil {
			return nil, err
		}
		f.Families = append(f.Families, Family{Network: n, Subnet: s})
	}
	if len(f.Families) == 0 {
		return nil, errors.New("neither FLANNEL_SUBNET nor FLANNEL_IPV6_SUBNET is there")
	}
	var err error
	if f.MTU, err = strconv.Atoi(values["FLANNEL_MTU"]); err != nil || f.MTU < 68 || f.MTU > 65535 {
		return nil, fmt.Errorf("FLANNEL_MTU is %.50q, and not 68 to 65535", values["FLANNEL_MTU"])
	}
	if f.IPMasq, err = strconv.ParseBool(values["FLANNEL_IPMASQ"]); err != nil {
		return nil, fmt.Errorf("FLANNEL_IPMASQ is %.50q, and neither true nor false", values["FLANNEL_IPMASQ"])
	}
	return f, nil
}
