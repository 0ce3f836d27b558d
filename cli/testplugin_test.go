// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

// noopConfig is the config of a network plugin that exists for these tests only.
type noopConfig struct {
	metav1.TypeMeta `json:",inline"`
	// Colour is red or blue.
	Colour string `json:"colour,omitempty"`
	// Length is a number in a string.
	Length string `json:"length,omitempty"`
	// Monitored adds an object for the seed.
	Monitored bool `json:"monitored,omitempty"`
}

type noop struct{}

var _ plugin.Definition[noopConfig] = noop{}

func (noop) Describe() plugin.Description {
	return plugin.Description{
		Type:           "noop",
		ConfigVersions: []schema.GroupVersion{{Group: "noop.example.com", Version: "v1"}},
		Origin:         "noop", Adopts: []plugin.Bundle{plugin.NetworkBundle("noop", nil)},
		IPFamilies: plugin.IPFamilySupport{IPv4: true},
		Changes:    noopChanges.Possible(),
		FeatureGates: []plugin.FeatureGate{
			{Name: "FastNoop", Doc: "is fast"},
			{Name: "SafeNoop", Default: true, Doc: "is safe"},
		},
		ConfigSchema: []byte(noopSchema),
	}
}

func (noop) Validate(written *noopConfig, _ *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	switch written.Colour {
	case "", "red", "blue":
	default:
		found.Error(field.NotSupported(path.Child("colour"), written.Colour, []string{"red", "blue"}))
	}
	if written.Length != "" {
		found.Warn(path.Child("length"), "is deprecated and has no effect")
	}
	return found
}

func (noop) Default(config *noopConfig, facts *plugin.Input, origins *plugin.Origins) {
	if config.Colour == "" {
		config.Colour = "red"
		if facts.Infrastructure.NoIPIP {
			config.Colour = "blue"
			origins.Infrastructure("colour", facts.Infrastructure.Type+" has no red")
		}
	}
}

func (noop) ValidateEffective(*noopConfig, *noopConfig, *plugin.Input, *field.Path) plugin.Findings {
	return plugin.Findings{}
}

var noopChanges = plugin.ChangePolicy[noopConfig]{
	"colour": {{Class: plugin.Forbidden, Reason: "pods keep the former colour"}},
	"length": {
		{Class: plugin.Disruptive, When: "if it becomes 0", If: func(c plugin.Change[noopConfig]) bool { return c.After.Config.Length == "0" },
			Reason: "traffic stops"},
		{Class: plugin.Rolling, Reason: "the agents restart"},
	},
	"monitored": {{Class: plugin.Safe, Reason: "only adds a dashboard"}},
}

func (noop) Classify(change plugin.Change[noopConfig]) (plugin.ChangeClass, string) {
	return noopChanges.Classify(change)
}

// DescribeDataPath tells nothing of most networks.
func (noop) DescribeDataPath(effective *noopConfig) plugin.DataPath {
	if effective.Length != "5" {
		return plugin.DataPath{}
	}
	return plugin.DataPath{Packets: "on foot", Router: "hand"}
}

func (noop) Render(effective *noopConfig, facts *plugin.Input) (plugin.Objects, error) {
	labels := map[string]string{"app": "noop"}
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Name: "system:noop", Namespace: "kube-system"},
	}
	daemons := &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "noop", Namespace: "kube-system"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: account.Name,
					Containers: []corev1.Container{{
						Name: "noop", Image: "registry.example.com/noop:v1",
						Args: []string{
							"--colour=" + effective.Colour, "--pods=" + facts.PodCIDR, "--kubernetes=" + facts.KubernetesVersion,
							fmt.Sprintf("--fast=%t", facts.FeatureGates["FastNoop"]),
							fmt.Sprintf("--safe=%t", facts.FeatureGates["SafeNoop"]),
						},
					}},
				},
			},
		},
	}
	if effective.Length != "" {
		container := &daemons.Spec.Template.Spec.Containers[0]
		container.Args = append(container.Args, "--length="+effective.Length)
	}
	var inSeed []plugin.Object
	if effective.Monitored {
		inSeed = []plugin.Object{&corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: "noop-dashboard", Namespace: facts.Namespace},
			Data:       map[string]string{"title": "Noop"},
		}}
	}
	return plugin.NewObjects(nil, plugin.NetworkBundle("noop", []plugin.Object{account, daemons}), plugin.SeedBundle("noop-seed", inSeed)), nil
}

// infra is an infrastructure without IP-in-IP, and dry one that allows everything.
type (
	infra struct{}
	dry   struct{}
)

func (dry) Type() string { return "dry" }

func (dry) Infrastructure(*corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{Type: "dry"}
}

func (infra) Type() string { return "infra" }

func (infra) Infrastructure(*corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{Type: "infra", NoIPIP: true}
}
