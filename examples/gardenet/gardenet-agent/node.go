// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// pluginsFrom and pluginsTo are the folders of the CNI plugins, in the image and on the node.
	pluginsFrom, pluginsTo = "/usr/src/cni/bin", "/opt/cni/bin"
	configFile             = "/etc/cni/net.d/10-gardenet.conflist"
)

// masquerade gives packets from pods to elsewhere the address of their node, since nothing outside
// knows where pods are. nft carries the whole text out at once.
func masquerade(ctx context.Context, pods netip.Prefix) error {
	nft := exec.CommandContext(ctx, "nft", "-f", "-")
	nft.Stdin = strings.NewReader(fmt.Sprintf(`table ip gardenet {
	chain postrouting { type nat hook postrouting priority srcnat; }
}
flush chain ip gardenet postrouting
add rule ip gardenet postrouting ip saddr %[1]s ip daddr != { %[1]s, 224.0.0.0/4 } masquerade
`, pods))
	if output, err := nft.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, output)
	}
	return nil
}

// installPlugins copies the CNI plugins to the node, as far as they differ.
func installPlugins() error {
	plugins, err := os.ReadDir(pluginsFrom)
	if err != nil {
		return err
	}
	for _, each := range plugins {
		content, err := os.ReadFile(filepath.Join(pluginsFrom, each.Name()))
		if err != nil {
			return err
		}
		if err := replace(filepath.Join(pluginsTo, each.Name()), content, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// writeConfig writes the CNI configuration: a bridge to which pods are connected, with addresses of
// the node's range.
func writeConfig(own netip.Prefix) error {
	type object = map[string]any
	content, err := json.MarshalIndent(object{
		"cniVersion": "1.0.0", "name": "gardenet", "plugins": []any{
			object{
				"type": "bridge", "bridge": "gardenet0", "isDefaultGateway": true, "hairpinMode": true,
				"ipam": object{"type": "host-local", "ranges": []any{[]any{object{"subnet": own.String()}}}},
			},
			object{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	return replace(configFile, content, 0o644)
}

// replace gives a file this content, unless it has it. A program that opens the file meanwhile
// reads all of the one or all of the other.
func replace(path string, content []byte, mode os.FileMode) error {
	if present, err := os.ReadFile(path); err == nil && bytes.Equal(present, content) {
		return nil
	}
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(temporary, content, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
