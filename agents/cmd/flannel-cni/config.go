// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/trellis-network/trellis/agents/internal/subnetenv"
)

const (
	// maxConfig is the largest configuration, in bytes, that the plugin takes from the
	// container runtime or keeps. Real ones have below 2 KiB.
	maxConfig = 1 << 20
	// pluginNotAvailable is the CNI specification's code for a plugin that can serve no ADD.
	pluginNotAvailable uint = 50
	// validAttachments is the key of what a GC must keep (CNI specification, section 4).
	validAttachments = "cni.dev/valid-attachments"
)

// config is what the container runtime passes on standard input. The fields beside those of
// every plugin are those of flannel's own CNI plugin.
type config struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	// SubnetFile is written by flannel's daemon.
	SubnetFile string `json:"subnetFile"`
	// DataDir has a file for each container: the configuration that the delegate got at ADD.
	DataDir string `json:"dataDir"`
	// Delegate are settings of the delegate. They take precedence over what this plugin sets,
	// but may have neither a name nor ipam.
	Delegate map[string]json.RawMessage `json:"delegate"`
	// IPAM are settings of the delegate's IPAM plugin. Ranges and routes of the node are added
	// to those that it has.
	IPAM map[string]json.RawMessage `json:"ipam"`
	// RuntimeConfig is passed on to the delegate.
	RuntimeConfig json.RawMessage `json:"runtimeConfig"`
	// PrevResult is passed on to the delegate at CHECK.
	PrevResult json.RawMessage `json:"prevResult"`
	// ValidAttachments are those that a GC keeps.
	ValidAttachments []types.GCAttachment `json:"cni.dev/valid-attachments"`
}

// parseConfig reads the configuration. All its errors have a code of the CNI specification.
func parseConfig(stdin []byte) (*config, error) {
	if len(stdin) > maxConfig {
		return nil, types.NewError(types.ErrInvalidNetworkConfig, fmt.Sprintf("the network configuration has %d bytes, and may have %d", len(stdin), maxConfig), "")
	}
	c := &config{SubnetFile: subnetenv.DefaultPath, DataDir: "/var/lib/cni/flannel"}
	if err := json.Unmarshal(stdin, c); err != nil {
		return nil, types.NewError(types.ErrDecodingFailure, "the network configuration cannot be read", err.Error())
	}
	for _, key := range []string{"name", "ipam"} {
		if _, ok := c.Delegate[key]; ok {
			return nil, types.NewError(types.ErrInvalidNetworkConfig, fmt.Sprintf("delegate has the key %q, which the plugin flannel sets itself", key), "")
		}
	}
	return c, nil
}

// delegation is a configuration for a delegate. Values are encoded JSON or what encodes to it.
type delegation map[string]any

// delegation returns the configuration with which the delegate gives a pod of this node an
// interface.
func (c *config) delegation() (delegation, error) {
	env, err := subnetenv.Read(c.SubnetFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, types.NewError(types.ErrTryAgainLater, fmt.Sprintf("flannel's daemon has not written %s on this node yet: pods start once it has", c.SubnetFile), "")
	}
	if err != nil {
		return nil, types.NewError(types.ErrTryAgainLater, "flannel's daemon has not said which addresses pods of this node get", err.Error())
	}
	ipam, err := c.ipam(env)
	if err != nil {
		return nil, err
	}
	d := delegation{"type": "bridge", "mtu": env.MTU, "ipMasq": !env.IPMasq}
	for key, value := range c.Delegate {
		d[key] = value
	}
	if _, set := c.Delegate["isGateway"]; !set && d.plugin() == "bridge" {
		d["isGateway"] = true
	}
	d["name"], d["cniVersion"], d["ipam"] = c.Name, c.CNIVersion, ipam
	if c.RuntimeConfig != nil {
		d["runtimeConfig"] = c.RuntimeConfig
	}
	return d, nil
}

// ipam returns the configuration of the IPAM plugin: an address of each IP family of the node,
// and routes to all pods.
func (c *config) ipam(env *subnetenv.File) (map[string]any, error) {
	type (
		addresses struct {
			Subnet string `json:"subnet"`
		}
		route struct {
			Destination string `json:"dst"`
		}
	)
	ipam := map[string]any{"type": "host-local"}
	for key, value := range c.IPAM {
		ipam[key] = value
	}
	var ranges, routes []any
	for key, list := range map[string]*[]any{"ranges": &ranges, "routes": &routes} {
		if value, ok := c.IPAM[key]; ok {
			if err := json.Unmarshal(value, list); err != nil {
				return nil, types.NewError(types.ErrInvalidNetworkConfig, fmt.Sprintf("ipam.%s must be a list", key), err.Error())
			}
		}
	}
	for _, family := range env.Families {
		ranges = append(ranges, []addresses{{family.Subnet.Masked().String()}})
		routes = append(routes, route{family.Network.Masked().String()})
	}
	ipam["ranges"], ipam["routes"] = ranges, routes
	return ipam, nil
}

// plugin returns the delegate's name, which is the file name of its program.
func (d delegation) plugin() string { return d.text("type") }

// text returns a string of the configuration, or "" if it is none.
func (d delegation) text(key string) string {
	switch value := d[key].(type) {
	case string:
		return value
	case json.RawMessage:
		var text string
		_ = json.Unmarshal(value, &text)
		return text
	}
	return ""
}

// with returns the configuration with one more value.
func (d delegation) with(key string, value any) delegation {
	d = maps.Clone(d)
	d[key] = value
	return d
}
