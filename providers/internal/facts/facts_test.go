// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/alicloud"
	"github.com/trellis-network/trellis/providers/aws"
	"github.com/trellis-network/trellis/providers/azure"
	"github.com/trellis-network/trellis/providers/gcp"
	"github.com/trellis-network/trellis/providers/local"
	"github.com/trellis-network/trellis/providers/openstack"
)

func TestANetworkThatExistedBeforeMayBeShared(t *testing.T) {
	for _, test := range []struct {
		name     string
		provider plugin.Provider
		config   string
		own      bool
	}{
		{"Azure, made for the Shoot", azure.Provider, `{"networks": {"vnet": {"cidr": "10.250.0.0/16"}, "workers": "10.250.0.0/19"}}`, true},
		{"Azure, made for the Shoot by default", azure.Provider, `{"networks": {"workers": "10.250.0.0/19"}}`, true},
		{"Azure, an existing one", azure.Provider, `{"networks": {"vnet": {"name": "corp", "resourceGroup": "net"}, "workers": "10.250.0.0/19"}}`, false},
		{"AWS, made for the Shoot", aws.Provider, `{"networks": {"vpc": {"cidr": "10.250.0.0/16"}}}`, true},
		{"AWS, an existing one", aws.Provider, `{"networks": {"vpc": {"id": "vpc-1234"}}}`, false},
		{"GCP, made for the Shoot", gcp.Provider, `{"networks": {"workers": "10.250.0.0/16"}}`, true},
		{"GCP, an existing one", gcp.Provider, `{"networks": {"vpc": {"name": "corp"}}}`, false},
		{"OpenStack, made for the Shoot", openstack.Provider, `{"networks": {"workers": "10.250.0.0/19"}}`, true},
		{"OpenStack, an existing one", openstack.Provider, `{"networks": {"id": "1111", "workers": "10.250.0.0/19"}}`, false},
		{"OpenStack, an existing router", openstack.Provider, `{"networks": {"router": {"id": "1111"}}}`, false},
		{"Alibaba Cloud, made for the Shoot", alicloud.Provider, `{"networks": {"vpc": {"cidr": "10.250.0.0/16"}}}`, true},
		{"Alibaba Cloud, an existing one", alicloud.Provider, `{"networks": {"vpc": {"id": "vpc-1234"}}}`, false},
		{"not known of the infrastructure", local.Provider, `{}`, false},
		{"a list", azure.Provider, `[7]`, false},
		{"a number for networks", azure.Provider, `{"networks": 7}`, false},
		{"a number for a name", azure.Provider, `{"networks": {"vnet": {"name": 7}}}`, false},
		{"absent", azure.Provider, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			shoot := &corev1beta1.Shoot{}
			if test.config != "" {
				shoot.Spec.Provider.InfrastructureConfig = &runtime.RawExtension{Raw: []byte(test.config)}
			}
			NewWithT(t).Expect(test.provider.Infrastructure(shoot).OwnNetwork).To(Equal(test.own))
		})
	}
}
