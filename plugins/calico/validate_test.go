// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/pipeline"
)

func TestWhatIsRefused(t *testing.T) {
	const invalid, forbidden = "Invalid value", "Forbidden"
	for _, test := range []struct {
		config string
		want   []string // type @ path below providerConfig
	}{
		{"backend: None", []string{invalid + " @ backend"}},
		{"backend: ''", []string{invalid + " @ backend"}},
		{"ipam: {type: dhcp}", []string{invalid + " @ ipam.type"}},
		{"ipam: {cidr: usePodCidrIPv6}", []string{invalid + " @ ipam.cidr"}},
		{"ipam: {cidr: ''}", []string{invalid + " @ ipam.cidr"}},
		{"ipam: {cidr: 100.64.0.0}", []string{invalid + " @ ipam.cidr"}},
		{"ipv4: {pool: gre}", []string{invalid + " @ ipv4.pool"}},
		{"ipv4: {mode: always}", []string{invalid + " @ ipv4.mode"}},
		{"ipv4: {pool: vxlan, mode: CrossSubnet}", []string{invalid + " @ ipv4.mode"}},
		{"ipv4: {pool: vxlan, mode: 'Off'}", []string{invalid + " @ ipv4.mode"}},
		{"ipv4: {autoDetectionMethod: 'interface=['}", []string{invalid + " @ ipv4.autoDetectionMethod"}},
		{"ipv6: {}", []string{forbidden + " @ ipv6"}},
		{"ipv6: {pool: gre}", []string{invalid + " @ ipv6.pool", forbidden + " @ ipv6"}},
		{"vethMTU: ''", []string{invalid + " @ vethMTU"}},
		{"vethMTU: '-1'", []string{invalid + " @ vethMTU"}},
		{"vethMTU: '1440.5'", []string{invalid + " @ vethMTU"}},
		{"vethMTU: 1440", []string{invalid + " @ vethMTU"}},
		{"autoScaling: {}", []string{invalid + " @ autoScaling.mode"}},
		{"autoScaling: {mode: manual}", []string{invalid + " @ autoScaling.mode"}},
		{"autoScaling: {mode: vpa, resources: {node: {cpu: 0}}}", []string{invalid + " @ autoScaling.resources.node.cpu"}},
		{"autoScaling: {mode: static, resources: {typha: {memory: -1}}}", []string{invalid + " @ autoScaling.resources.typha.memory"}},
		{"autoScaling: {mode: static, resources: {node: {disk: 1}}}", []string{invalid + " @ autoScaling.resources.node.disk"}},
		{"serviceLoopPrevention: drop", []string{invalid + " @ serviceLoopPrevention"}},
		{"ipip: always", []string{invalid + " @ ipip"}},
		{"ipAutodetectionMethod: ''", []string{invalid + " @ ipAutodetectionMethod"}},
		{"overlays: {enabled: true}", []string{invalid + " @ overlays"}},
		{"overlay: {Enabled: true}", []string{invalid + " @ overlay.Enabled"}},
		{"overlay: {enabled: 'true'}", []string{invalid + " @ overlay.enabled"}},
		{"backend: None\nvethMTU: x", []string{invalid + " @ backend", invalid + " @ vethMTU"}},
	} {
		t.Run(test.config, func(t *testing.T) {
			NewWithT(t).Expect(try(t, test.config).Refusals()).To(Equal(test.want))
		})
	}
}

func TestAutoDetectionMethods(t *testing.T) {
	for method, fine := range map[string]bool{
		"first-found":                    true,
		"first-found=eth0":               false,
		"first-found=":                   false,
		"kubernetes-internal-ip":         true,
		"can-reach=8.8.8.8":              true,
		"can-reach=2001:db8::1":          true,
		"can-reach=www.example.com":      true,
		"can-reach":                      false,
		"can-reach=":                     false,
		"can-reach=-not-a-name-":         false,
		"interface=eth.*":                true,
		"interface=(eth|ens).*":          true,
		"interface=(eth":                 false,
		"interface":                      false,
		"skip-interface=^docker.*":       true,
		"skip-interface=*":               false,
		"cidr=10.250.0.0/16":             true,
		"cidr=10.250.0.0":                false,
		"cidr=10.1.0.0/16,10.2.0.0/16":   false,
		"last-found":                     false,
		"Interface=eth0":                 false,
		"interface=name=with=equal-sign": true,
	} {
		for _, field := range []string{"ipv4: {autoDetectionMethod: %q}", "ipAutodetectionMethod: %q"} {
			config := fmt.Sprintf(field, method)
			t.Run(config, func(t *testing.T) {
				NewWithT(t).Expect(len(try(t, config).Errors) == 0).To(Equal(fine))
			})
		}
	}
}

func TestErrorsSayWhatIsAllowed(t *testing.T) {
	for config, want := range map[string]string{
		"backend: calico":                           "must be one of bird, none, vxlan",
		"ipv4: {autoDetectionMethod: last}":         "must be one of first-found, kubernetes-internal-ip, can-reach=HOST, interface=REGEX, skip-interface=REGEX, cidr=RANGE",
		"ipv4: {autoDetectionMethod: 'can-reach='}": "must be can-reach=HOST, with an IP address or a DNS name",
		"ipam: {cidr: all}":                         "is neither usePodCIDR nor an IP range; write usePodCIDR",
	} {
		t.Run(config, func(t *testing.T) {
			NewWithT(t).Expect(try(t, config).Errors.ToAggregate()).To(MatchError(ContainSubstring(want)))
		})
	}
}

func TestServicesNeedAnImplementation(t *testing.T) {
	const ebpf = "ebpfDataplane: {enabled: true}"
	for _, test := range []struct {
		name, config string
		kubeProxy    option
		want         []string
	}{
		{"kube-proxy", "", withKubeProxy(true, corev1beta1.ProxyModeIPVS), nil},
		{"kube-proxy and eBPF", ebpf, withKubeProxy(true, corev1beta1.ProxyModeIPTables), nil},
		{"eBPF", ebpf, withKubeProxy(false, ""), nil},
		{"none", "", withKubeProxy(false, ""), []string{"Forbidden @ spec.kubernetes.kubeProxy.enabled"}},
		{"none, with a mode", "", withKubeProxy(false, corev1beta1.ProxyModeIPVS), []string{"Forbidden @ spec.kubernetes.kubeProxy.enabled"}},
		{"eBPF, with the mode that Gardener states", ebpf, withKubeProxy(false, corev1beta1.ProxyModeIPTables), nil},
		{"eBPF, with a mode for kube-proxy", ebpf, withKubeProxy(false, corev1beta1.ProxyModeIPVS), []string{"Forbidden @ spec.kubernetes.kubeProxy.mode"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(try(t, test.config, test.kubeProxy).Refusals()).To(Equal(test.want))
		})
	}
}

func TestBothGroupsAreRead(t *testing.T) {
	for _, header := range []string{
		"",
		"apiVersion: calico.networking.extensions.gardener.cloud/v1alpha1\nkind: NetworkConfig\n",
		"apiVersion: calico.extensions.gardener.cloud/v1alpha1\nkind: NetworkConfig\n",
		"apiVersion: ''\nkind: ''\n",
	} {
		t.Run(header, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, header+"ipam: {type: host-local, cidr: usePodCIDR}\nbackend: bird\ntypha: {enabled: true}\n")
			g.Expect(string(n.Config)).To(ContainSubstring(`"apiVersion":"calico.networking.extensions.gardener.cloud/v1alpha1"`))
		})
	}
	g := NewWithT(t)
	g.Expect(try(t, "apiVersion: calico.gardener.cloud/v1").Errors).To(HaveLen(1))
}

func TestPathsAreInTheAuthorsTerms(t *testing.T) {
	g := NewWithT(t)
	request := requestFor(t, "backend: x")
	request.Author = pipeline.AuthorShoot
	g.Expect(tryRequest(t, request).Errors[0].Field).To(Equal("spec.networking.providerConfig.backend"))
}
