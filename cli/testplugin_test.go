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

// wireConfig is the config of a network plugin that exists for these tests only.
type wireConfig struct {
	metav1.TypeMeta `json:",inline"`
	// Colour is red or blue.
	Colour string `json:"colour,omitempty"`
	// Length is a number in a string.
	Length string `json:"length,omitempty"`
	// Monitored adds an object for the seed.
	Monitored bool `json:"monitored,omitempty"`
}

type wire struct{}

var _ plugin.Definition[wireConfig] = wire{}

func (wire) Describe() plugin.Description {
	return plugin.Description{
		Type:           "wire",
		ConfigVersions: []schema.GroupVersion{{Group: "wire.example.com", Version: "v1"}},
		Origin:         "wire", Adopts: []plugin.Bundle{plugin.NetworkBundle("wire", nil)},
		IPFamilies: plugin.IPFamilySupport{IPv4: true},
		Changes:    wireChanges.Possible(),
		FeatureGates: []plugin.FeatureGate{
			{Name: "FastWire", Doc: "makes the wire fast"},
			{Name: "SafeWire", Default: true, Doc: "insulates the wire"},
		},
		ConfigSchema: []byte(wireSchema),
	}
}

func (wire) Validate(written *wireConfig, _ *plugin.Input, path *field.Path) plugin.Findings {
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

func (wire) Default(config *wireConfig, facts *plugin.Input, origins *plugin.Origins) {
	if config.Colour == "" {
		config.Colour = "red"
		if facts.Infrastructure.NoIPIP {
			config.Colour = "blue"
			origins.Infrastructure("colour", facts.Infrastructure.Type+" has no red")
		}
	}
}

func (wire) ValidateEffective(*wireConfig, *wireConfig, *plugin.Input, *field.Path) plugin.Findings {
	return plugin.Findings{}
}

var wireChanges = plugin.ChangePolicy[wireConfig]{
	"colour": {{Class: plugin.Forbidden, Reason: "both ends must have the same colour"}},
	"length": {
		{Class: plugin.Disruptive, When: "if it becomes 0", If: func(c plugin.Change[wireConfig]) bool { return c.After.Config.Length == "0" },
			Reason: "nothing is left of the wire"},
		{Class: plugin.Rolling, Reason: "the wire is pulled in anew"},
	},
	"monitored": {{Class: plugin.Safe, Reason: "only adds a dashboard"}},
}

func (wire) Classify(change plugin.Change[wireConfig]) (plugin.ChangeClass, string) {
	return wireChanges.Classify(change)
}

func (wire) Render(effective *wireConfig, facts *plugin.Input) (plugin.Objects, error) {
	labels := map[string]string{"app": "wire"}
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Name: "system:wire", Namespace: "kube-system"},
	}
	daemons := &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "wire", Namespace: "kube-system"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: account.Name,
					Containers: []corev1.Container{{
						Name: "wire", Image: "registry.example.com/wire:v1",
						Args: []string{
							"--colour=" + effective.Colour, "--pods=" + facts.PodCIDR, "--kubernetes=" + facts.KubernetesVersion,
							fmt.Sprintf("--fast=%t", facts.FeatureGates["FastWire"]),
							fmt.Sprintf("--safe=%t", facts.FeatureGates["SafeWire"]),
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
			ObjectMeta: metav1.ObjectMeta{Name: "wire-dashboard", Namespace: facts.Namespace},
			Data:       map[string]string{"title": "Wire"},
		}}
	}
	return plugin.NewObjects(nil, plugin.NetworkBundle("wire", []plugin.Object{account, daemons}), plugin.SeedBundle("wire-seed", inSeed)), nil
}

// marsh is an infrastructure without IP-in-IP.
type marsh struct{}

func (marsh) Type() string { return "marsh" }

func (marsh) Infrastructure(*corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{Type: "marsh", NoIPIP: true}
}
