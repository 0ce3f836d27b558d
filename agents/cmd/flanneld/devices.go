// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// watchDevices ends the daemon when an interface of VXLAN is deleted. With an interface its
// routes and neighbours go, and only a start makes all of them: flannel's package makes the
// interface again, without them, and only in a network of both IP families.
func watchDevices(ctx context.Context, config *subnet.Config, end context.CancelCauseFunc) error {
	if config.BackendType != "vxlan" {
		return nil
	}
	names, err := devices(config)
	if err != nil {
		return err
	}
	updates := make(chan netlink.LinkUpdate)
	if err := netlink.LinkSubscribe(updates, ctx.Done()); err != nil {
		return fmt.Errorf("watch interfaces: %w", err)
	}
	go func() {
		for update := range updates {
			if name := update.Attrs().Name; update.Header.Type == unix.RTM_DELLINK && names[name] {
				end(fmt.Errorf("the interface %s was deleted: a start makes it and its routes again", name))
			}
		}
	}()
	return nil
}

// devices has the names of the interfaces of VXLAN, as flannel makes them.
func devices(config *subnet.Config) (map[string]bool, error) {
	settings := struct{ VNI int }{VNI: 1}
	if err := json.Unmarshal(config.Backend, &settings); err != nil {
		return nil, fmt.Errorf("the backend's configuration: %w", err)
	}
	return map[string]bool{
		fmt.Sprintf("flannel.%d", settings.VNI):    config.EnableIPv4,
		fmt.Sprintf("flannel-v6.%d", settings.VNI): config.EnableIPv6,
	}, nil
}
