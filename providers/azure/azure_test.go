// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/providers/azure"
)

func TestAVirtualNetworkWithANameMayBeShared(t *testing.T) {
	for _, test := range []struct {
		name, config string
		own          bool
	}{
		{"made for the Shoot", `{"networks": {"vnet": {"cidr": "10.250.0.0/16"}, "workers": "10.250.0.0/19"}}`, true},
		{"made for the Shoot, by default", `{"networks": {"workers": "10.250.0.0/19"}}`, true},
		{"an existing one", `{"networks": {"vnet": {"name": "corp", "resourceGroup": "net"}, "workers": "10.250.0.0/19"}}`, false},
		{"invalid", `{"networks": 7}`, false},
		{"absent", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			shoot := &corev1beta1.Shoot{}
			if test.config != "" {
				shoot.Spec.Provider.InfrastructureConfig = &runtime.RawExtension{Raw: []byte(test.config)}
			}
			NewWithT(t).Expect(azure.Provider{}.Infrastructure(shoot).OwnNetwork).To(Equal(test.own))
		})
	}
}
