// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// Validate checks what the user wrote.
func (definition) Validate(written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if overlay := written.Overlay; overlay != nil && overlay.Enabled == nil && in.Planned && slices.Contains(in.Infrastructure.ReadsOverlay, Type) {
		found.Error(field.Required(path.Child("overlay", "enabled"), fmt.Sprintf(
			"write false, which it means without a value; Gardener's extension for %s fails on such an overlay", in.Infrastructure.Type)))
	}
	for _, each := range configFields {
		if each.validate != nil {
			each.validate(written, &found, plugin.At(path, each.path))
		}
	}
	return found
}

// isIP reports whether s is an address everywhere: one with a zone is so on one node only.
func isIP(s string) bool {
	address, err := netip.ParseAddr(s)
	return err == nil && address.Zone() == ""
}

// longestPacket is how many bytes a packet can have at most.
const longestPacket = 65535

// longestDevice is how long Linux lets the name of a network interface be.
const longestDevice = 15

// validateDevice finds what no network interface can be called.
func validateDevice(found *plugin.Findings, path *field.Path, device string) {
	none := func(r rune) bool { return r == '/' || unicode.IsSpace(r) }
	if device == "" || len(device) > longestDevice || strings.ContainsFunc(device, none) {
		found.Error(field.Invalid(path, device,
			"must be the name of a network interface, of at most 15 bytes without slash and white space; write one such as eth0, or leave it out"))
	}
}
