// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/ipmatch"
	"github.com/flannel-io/flannel/pkg/subnet"
)

// externalInterface finds the interface to the other nodes: that of --iface, --iface-regex or
// --iface-can-reach, whichever names one that exists, and without these flags that of the public
// address or of the default route. The public addresses are those of the node's annotations
// public-ip-overwrite, then those of the flags.
func externalInterface(ctx context.Context, o *options, manager subnet.Manager, config *subnet.Config) (*backend.ExternalInterface, error) {
	families, err := ipmatch.GetIPFamily(config.EnableIPv4, config.EnableIPv6)
	if err != nil {
		return nil, fmt.Errorf("%s enables neither IPv4 nor IPv6: %w", o.netConf, err)
	}
	annotated, annotatedV6 := manager.GetStoredPublicIP(ctx)
	public := ipmatch.PublicIPOpts{PublicIP: cmp.Or(annotated, o.publicIP), PublicIPv6: cmp.Or(annotatedV6, o.publicIPv6)}
	lookup := func(name, regex, canReach string) (*backend.ExternalInterface, error) {
		return ipmatch.LookupExtIface(name, regex, canReach, families, public)
	}
	if len(o.interfaces) == 0 && len(o.interfaceRegexes) == 0 && o.interfaceCanReach == "" {
		found, err := lookup(cmp.Or(public.PublicIP, public.PublicIPv6), "", "")
		if err != nil {
			return nil, fmt.Errorf("find the interface to the other nodes (--iface names one): %w", err)
		}
		return found, nil
	}
	var errs []error
	try := func(flag, name, regex, canReach string) *backend.ExternalInterface {
		found, err := lookup(name, regex, canReach)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s=%s: %w", flag, name+regex+canReach, err))
		}
		return found
	}
	for _, name := range o.interfaces {
		if found := try("iface", name, "", ""); found != nil {
			return found, nil
		}
	}
	for _, regex := range o.interfaceRegexes {
		if found := try("iface-regex", "", regex, ""); found != nil {
			return found, nil
		}
	}
	if o.interfaceCanReach != "" {
		if found := try("iface-can-reach", "", "", o.interfaceCanReach); found != nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("no interface is as the flags say: %w", errors.Join(errs...))
}
