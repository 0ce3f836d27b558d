// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"net/netip"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// Validate checks what the user wrote.
func (definition) Validate(written *v1alpha1.NetworkConfig, _ *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	validateAPIServer(&found, written.KubeProxy, path.Child("kubeproxy"))
	plugin.OneOf(&found, path.Child("tunnel"), written.TunnelMode, v1alpha1.VXLAN, v1alpha1.Geneve, v1alpha1.Disabled)
	plugin.OneOf(&found, path.Child("store"), written.Store, v1alpha1.KubernetesStore)
	for _, each := range ordinaryFields {
		if each.validate != nil {
			each.validate(written, &found, plugin.At(path, each.path))
		}
	}
	validateEncryption(&found, written.Encryption, path.Child("encryption"))
	return found
}

func validateAPIServer(found *plugin.Findings, server *v1alpha1.KubeProxy, path *field.Path) {
	if server == nil {
		return
	}
	if host := server.ServiceHost; host != nil && !isIP(*host) {
		for _, message := range validation.IsDNS1123Subdomain(*host) {
			found.Error(field.Invalid(path.Child("k8sServiceHost"), *host, "must be an IP address without a zone, or a DNS name: "+message))
		}
	}
	if port := server.ServicePort; port != nil && (*port < 1 || *port > 65535) {
		found.Error(field.Invalid(path.Child("k8sServicePort"), *port, "must be a port from 1 to 65535"))
	}
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
	switch {
	case device == "":
		found.Error(field.Invalid(path, device, "must be the name of a network interface such as eth0"))
		return
	case len(device) > longestDevice:
		found.Error(field.Invalid(path, device, "must be the name of a network interface, of at most 15 bytes"))
	}
	if strings.ContainsFunc(device, func(r rune) bool { return r == '/' || unicode.IsSpace(r) }) {
		found.Error(field.Invalid(path, device, "must be the name of a network interface, without slash and white space"))
	}
}

// validateEncryption leaves modes alone that merely encrypt nothing, since Gardener's
// extension does; there is a warning of them.
func validateEncryption(found *plugin.Findings, encryption *v1alpha1.Encryption, path *field.Path) {
	switch {
	case encryption == nil || !encryption.Enabled:
	case encryption.Mode == v1alpha1.IPsec:
		found.Error(field.Invalid(path.Child("mode"), encryption.Mode, "is not supported, since Trellis does not bring the keys; write wireguard"))
	case encryption.StrictMode && encryption.Mode != v1alpha1.WireGuard:
		found.Error(field.Invalid(path.Child("mode"), encryption.Mode, "must be wireguard together with strictMode: true"))
	}
}
