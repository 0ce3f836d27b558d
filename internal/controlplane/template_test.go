// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controlplane"
)

// What the extensibility overview's first example has in the Infrastructure of AWS.
const status = `{
	"kind": "InfrastructureStatus",
	"vpc": {"id": "vpc-1234", "subnets": [
		{"id": "subnet-acbd1234", "name": "workers", "zone": "eu-west-1"}, {"id": "subnet-2", "name": "public", "zone": "eu-west-1"}
	]},
	"number": 9007199254740993, "yes": true, "nothing": null
}`

func TestACloudConfigHasValuesOfItsInfrastructure(t *testing.T) {
	infrastructure := &extensionsv1alpha1.Infrastructure{}
	infrastructure.Namespace = "shoot--core--aws-01"
	infrastructure.Spec.Region = "eu-west-1"
	infrastructure.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(status)}
	for name, test := range map[string]struct{ template, config, fails string }{
		"AWS": {`[Global]
VPC={.status.providerStatus.vpc.id}
SubnetID={.status.providerStatus.vpc.subnets[?(@.name=="public")].id}
KubernetesClusterTag={.metadata.namespace}
Zone="{.spec.region}a"
`, `[Global]
VPC=vpc-1234
SubnetID=subnet-2
KubernetesClusterTag=shoot--core--aws-01
Zone="eu-west-1a"
`, ""},
		"a number and a boolean": {`{.status.providerStatus.number} {.status.providerStatus.yes}`, "9007199254740993 true", ""},
		"braces":                 {`{"{"}"a": 1{"}"}`, `{"a": 1}`, ""},
		"a path to nothing":      {`{.status.providerStatus.vpc.name}`, "", "name is not found"},
		"no item":                {`VPC={.status.providerStatus.vpc.subnets[?(@.name=="none")].id}`, "", "an expression finds nothing"},
		"null":                   {`{.status.providerStatus.nothing}`, "", "no text, number or boolean"},
		"an object":              {`{.status.providerStatus.vpc}`, "", "no text, number or boolean"},
		"what is no template":    {`{.status`, "", "unclosed action"},
		"too much":               {strings.Repeat("x", 300<<10), "", "more than 262144 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cloud, err := controlplane.Cloud{VolumePlugin: "aws", Template: test.template}.For(infrastructure)
			if test.fails != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.fails)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cloud).To(Equal(controlplane.Cloud{VolumePlugin: "aws", Config: test.config}))
		})
	}
}

func TestACloudConfigWithoutTemplateNeedsNoInfrastructure(t *testing.T) {
	g := NewWithT(t)
	cloud, err := aws.For(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cloud).To(Equal(aws))
}
