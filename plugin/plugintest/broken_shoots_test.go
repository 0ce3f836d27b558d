// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

// completing is a ShootDefaulter.
type completing struct {
	*fake[config]
	complete func(old, shoot *corev1beta1.Shoot, in *plugin.Input) []plugin.Warning
}

func (c completing) DefaultShoot(old, shoot *corev1beta1.Shoot, in *plugin.Input) []plugin.Warning {
	return c.complete(old, shoot, in)
}

func completes(complete func(old, shoot *corev1beta1.Shoot, in *plugin.Input) []plugin.Warning) func() plugin.Plugin {
	return func() plugin.Plugin { return plugin.New[config](completing{sound(), complete}) }
}

// states puts a value into the config of a Shoot, if it is an object or absent.
func states(shoot *corev1beta1.Shoot, name string, value any) {
	config := map[string]any{}
	if raw := shoot.Spec.Networking.ProviderConfig; raw != nil && json.Unmarshal(raw.Raw, &config) != nil {
		return
	}
	config[name] = value
	shoot.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(textOf(config))}
}

func stated(shoot *corev1beta1.Shoot, name string) any {
	config := map[string]any{}
	if raw := shoot.Spec.Networking.ProviderConfig; raw != nil {
		_ = json.Unmarshal(raw.Raw, &config) // what is no object states nothing
	}
	return config[name]
}

// soundCompletion states the mode of new Shoots where the infrastructure makes routes, keeps it in
// updates that leave it out, and switches kube-proxy on.
func soundCompletion(old, shoot *corev1beta1.Shoot, in *plugin.Input) []plugin.Warning {
	switch mode := stated(shoot, "mode"); {
	case mode != nil:
	case old != nil && stated(old, "mode") != nil:
		states(shoot, "mode", stated(old, "mode"))
	case old == nil && in.Infrastructure.OverlayOff:
		states(shoot, "mode", "routed")
	}
	proxy := shoot.Spec.Kubernetes.KubeProxy
	if old != nil || proxy == nil || proxy.Enabled == nil || *proxy.Enabled {
		return nil
	}
	proxy.Enabled = new(true)
	return []plugin.Warning{{Field: "spec.kubernetes.kubeProxy.enabled", Message: "is set to true: nothing else implements Services"}}
}

// brokenShoots are completed as no user wants it.
var brokenShoots = []broken{
	{check: "shoots", how: "without end", says: "DefaultShoot changes its own result", plugin: completes(func(old, shoot *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		if old == nil {
			shoot.Spec.Networking.IPFamilies = append(shoot.Spec.Networking.IPFamilies, "IPv4")
		}
		return nil
	})},
	{check: "shoots", how: "in clusters that run", says: "DefaultShoot changes a Shoot that exists, in an update that is about something else", plugin: completes(func(_, shoot *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		return soundCompletion(nil, shoot, &plugin.Input{Facts: plugin.Facts{Infrastructure: plugin.Infrastructure{OverlayOff: true}}})
	})},
	{check: "shoots", how: "in updates of the config", says: "in an update, DefaultShoot states spec.networking.providerConfig.mtu: 1300, which neither the user nor", plugin: completes(func(old, shoot *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		if old != nil && textOf(old.Spec.Networking) != textOf(shoot.Spec.Networking) {
			states(shoot, "mtu", 1300)
		}
		return nil
	})},
	{check: "shoots", how: "with what is refused", says: "is refused once DefaultShoot has completed it", plugin: completes(func(old, shoot *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		if old == nil && stated(shoot, "mode") == nil {
			states(shoot, "mode", "bridged")
		}
		return nil
	})},
	{check: "shoots", how: "over what users state", says: "DefaultShoot replaces what a user states, spec.networking.providerConfig.mtu: 1280, without a warning", plugin: completes(func(old, shoot *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		if old == nil {
			states(shoot, "mtu", 1400)
		}
		return nil
	})},
	{check: "shoots", how: "outside of the spec", says: "DefaultShoot changes metadata.labels.example; it may only change the spec", plugin: completes(func(old, shoot *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		if old == nil {
			shoot.Labels = map[string]string{"example": "true"}
		}
		return nil
	})},
	{check: "shoots", how: "with a path to nowhere", says: "does not say what is wrong with which field of the Shoot", plugin: completes(func(_, _ *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		return []plugin.Warning{{Field: "kubeProxy", Message: "is odd"}}
	})},
	{check: "shoots", how: "before the update", says: "DefaultShoot changes the Shoot before the update", plugin: completes(func(old, _ *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		if old != nil {
			old.Spec.Networking.IPFamilies = []string{"IPv6"}
		}
		return nil
	})},
	{check: "shoots", how: "over what it cannot decode", says: "DefaultShoot replaces a config that cannot be decoded", plugin: completes(func(_, shoot *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		if raw := shoot.Spec.Networking.ProviderConfig; raw != nil && !strings.HasPrefix(string(raw.Raw), "{") {
			raw.Raw = []byte("{}")
			return []plugin.Warning{{Field: "spec.networking.providerConfig", Message: "is no object"}}
		}
		return nil
	})},
	{check: "shoots", how: "by force", says: "the sound plugin panicked at broken_shoots_test.go:", plugin: completes(func(_, shoot *corev1beta1.Shoot, _ *plugin.Input) []plugin.Warning {
		_ = shoot.Spec.Networking.ProviderConfig.Raw // without a config
		return nil
	})},
}

func TestASoundShootDefaulterPassesAllChecks(t *testing.T) {
	NewWithT(t).Expect(problems(t, completes(soundCompletion)(), soundOptions())).To(BeEmpty())
}
