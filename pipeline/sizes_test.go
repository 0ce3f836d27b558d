// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

func TestAConfigThatIsTooLongIsRefusedUnlessItIsApplied(t *testing.T) {
	g := NewWithT(t)
	long := `{"mtu":"1300"` + strings.Repeat(" ", 64<<10) + `}`
	p := newPipeline(t, noopPlugin{})
	request := p.NewRequest(network(long), nil, noEnvironment)
	result := p.Build(request)
	g.Expect(result.Errors).To(HaveLen(1))
	g.Expect(result.Errors[0]).To(MatchError("spec.providerConfig: Too long: may not be more than 65536 bytes"))

	short := p.Build(p.NewRequest(network(`{"mtu":"1300"}`), nil, noEnvironment))
	request.Applied = short.Applied()
	request.Applied.Accepted = request.Accepted()
	result = p.Build(request)
	g.Expect(result.Errors).To(BeEmpty(), "an earlier release has accepted it")
	g.Expect(result.Warnings).To(ContainElement(HaveField("Message", ContainSubstring("Too long"))))
}

// A status is written by JSON merge patches, which cannot store a null.
func TestWhatIsKeptOfAConfigHasNoNulls(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	config := `{"mtu":null,"tunnel":{"enabled":true,"other":null},"list":[null,{"a":null,"b":9007199254740993}]}`
	request := p.NewRequest(network(config), nil, noEnvironment)
	request.Written = json.RawMessage(`{"mtu":null}`)
	accepted := request.Accepted()
	g.Expect(string(accepted.Spec.ProviderConfig.Raw)).To(Equal(`{"list":[null,{"b":9007199254740993}],"tunnel":{"enabled":true}}`))
	g.Expect(string(accepted.Written)).To(Equal(`{}`))
	g.Expect(string(request.Spec.ProviderConfig.Raw)).To(Equal(config), "what a user wrote is checked as it is")
}

// gardenlet copies the Shoot's config, which then need not be kept a second time.
func TestAConfigThatNoWebhookHasChangedIsKeptOnce(t *testing.T) {
	p := newPipeline(t, noopPlugin{})
	shoot := &corev1beta1.Shoot{}
	shoot.Spec.Networking = &corev1beta1.Networking{ProviderConfig: &runtime.RawExtension{Raw: []byte(`{"mtu": "1300"}`)}}
	for inNetwork, kept := range map[string]string{`{"mtu":"1300"}`: "", `{"mtu":"1400"}`: `{"mtu": "1300"}`} {
		request := p.NewRequest(network(inNetwork), shoot, noEnvironment)
		NewWithT(t).Expect(string(request.Accepted().Written)).To(Equal(kept), inNetwork)
	}
}
