// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	"github.com/trellis-network/trellis/plugin"
)

func TestWhichMutatingAdmissionPoliciesThereAre(t *testing.T) {
	const gate, v1, v1beta1, v1alpha1 = "MutatingAdmissionPolicy",
		"admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1", "admissionregistration.k8s.io/v1alpha1"
	on := func(names ...string) map[string]bool {
		enabled := map[string]bool{}
		for _, name := range names {
			enabled[name] = true
		}
		return enabled
	}
	for name, test := range map[string]struct {
		facts plugin.Facts
		want  string
	}{
		"final":                   {plugin.Facts{KubernetesVersion: "1.36.0"}, v1},
		"later":                   {plugin.Facts{KubernetesVersion: "2.0.1"}, v1},
		"not yet":                 {plugin.Facts{KubernetesVersion: "1.35.9"}, ""},
		"an unknown version":      {plugin.Facts{}, ""},
		"a strange version":       {plugin.Facts{KubernetesVersion: "latest"}, ""},
		"beta":                    {plugin.Facts{KubernetesVersion: "1.35.9", APIServer: plugin.APIServer{FeatureGates: on(gate), RuntimeConfig: on(v1beta1)}}, v1beta1},
		"alpha":                   {plugin.Facts{KubernetesVersion: "1.32.1", APIServer: plugin.APIServer{FeatureGates: on(gate), RuntimeConfig: on(v1alpha1)}}, v1alpha1},
		"the better of two":       {plugin.Facts{KubernetesVersion: "1.34.1", APIServer: plugin.APIServer{FeatureGates: on(gate), RuntimeConfig: on(v1alpha1, v1beta1)}}, v1beta1},
		"of its former alpha":     {plugin.Facts{KubernetesVersion: "1.33.1", APIServer: plugin.APIServer{FeatureGates: on(gate), RuntimeConfig: on(v1alpha1, v1beta1)}}, v1alpha1},
		"a beta of other kinds":   {plugin.Facts{KubernetesVersion: "1.33.1", APIServer: plugin.APIServer{FeatureGates: on(gate), RuntimeConfig: on(v1beta1)}}, ""},
		"final before beta":       {plugin.Facts{KubernetesVersion: "1.36.1", APIServer: plugin.APIServer{FeatureGates: on(gate), RuntimeConfig: on(v1beta1)}}, v1},
		"the gate alone":          {plugin.Facts{KubernetesVersion: "1.34.1", APIServer: plugin.APIServer{FeatureGates: on(gate)}}, ""},
		"the version alone":       {plugin.Facts{KubernetesVersion: "1.34.1", APIServer: plugin.APIServer{RuntimeConfig: on(v1beta1)}}, ""},
		"a version switched off":  {plugin.Facts{APIServer: plugin.APIServer{FeatureGates: on(gate), RuntimeConfig: map[string]bool{v1beta1: false}}}, ""},
		"a gate that is shut":     {plugin.Facts{APIServer: plugin.APIServer{FeatureGates: map[string]bool{gate: false}, RuntimeConfig: on(v1beta1)}}, ""},
		"with a leading v anyway": {plugin.Facts{KubernetesVersion: "v1.36.2"}, v1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.facts.MutatingAdmissionPolicies(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
