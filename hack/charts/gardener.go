// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"

	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugins"
)

// extensionName is the name of the ControllerRegistration, and thereby of the operator's release.
const extensionName = "trellis"

type fields = map[string]any

// registration returns a ControllerDeployment and a ControllerRegistration for a garden.
func (p packing) registration(chart []byte) ([]byte, error) {
	return documents(
		fields{
			"apiVersion": "core.gardener.cloud/v1",
			"kind":       "ControllerDeployment",
			"metadata":   fields{"name": extensionName},
			"helm":       fields{"rawChart": chart, "values": p.operatorValues()},
		},
		fields{
			"apiVersion": "core.gardener.cloud/v1beta1",
			"kind":       "ControllerRegistration",
			"metadata":   metadata(),
			"spec": fields{
				"deployment": fields{"deploymentRefs": []fields{{"name": extensionName}}},
				"resources":  resources(),
			},
		})
}

// extension returns an Extension for Gardener's operator.
func (p packing) extension() ([]byte, error) {
	return documents(fields{
		"apiVersion": "operator.gardener.cloud/v1alpha1",
		"kind":       "Extension",
		"metadata":   metadata(),
		"spec": fields{
			"resources": resources(),
			"deployment": fields{
				"extension": fields{"helm": p.published("trellis-operator"), "values": p.operatorValues()},
				"admission": fields{
					"runtimeCluster": fields{"helm": p.published("trellis-admission-runtime")},
					"virtualCluster": fields{"helm": p.published("trellis-admission-application")},
					"values":         fields{"image": p.image("trellis-admission")},
				},
			},
		},
	})
}

// metadata is that of the objects from which Gardener makes the operator's namespace.
func metadata() fields {
	return fields{"name": extensionName, "annotations": fields{"security.gardener.cloud/pod-security-enforce": "restricted"}}
}

// resources are what the operator reconciles. A garden has one primary extension of each type.
func resources() (all []fields) {
	for _, plugin := range plugins.All() {
		all = append(all, fields{"kind": "Network", "type": plugin.Type})
	}
	return all
}

func (p packing) operatorValues() fields {
	return fields{
		"image":  p.image("trellis-operator"),
		"images": fields{"trellis-probe": p.registry + "/trellis-probe:" + p.tag},
	}
}

func (p packing) image(program string) fields {
	return fields{"repository": p.registry + "/" + program, "tag": p.tag}
}

// published is a chart where `helm push` brings it.
func (p packing) published(chart string) fields {
	return fields{"ociRepository": fields{"ref": p.registry + "/charts/" + chart + ":" + p.version()}}
}

func documents(objects ...fields) ([]byte, error) {
	var all bytes.Buffer
	for _, object := range objects {
		encoded, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		all.WriteString("---\n")
		all.Write(encoded)
	}
	return all.Bytes(), nil
}
