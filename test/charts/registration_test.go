// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugins"
)

// resource is an entry of the list in which Gardener looks for what reconciles Networks of a type.
type resource struct{ Kind, Type string }

func everyType() (all []resource) {
	for _, plugin := range plugins.All() {
		all = append(all, resource{"Network", plugin.Type})
	}
	return all
}

func documentsOf(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(charts(t), file))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return strings.Split(strings.TrimPrefix(string(content), "---\n"), "---\n")
}

// One ControllerRegistration has all types, since gardenlet looks for one heartbeat, and its
// ControllerDeployment has the very chart.
func TestTheControllerRegistrationInstallsTheChart(t *testing.T) {
	g := NewWithT(t)
	var deployment struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Helm             struct {
			RawChart []byte
			Values   map[string]any
		}
	}
	var registration struct {
		APIVersion, Kind string
		Metadata         struct {
			Name        string
			Annotations map[string]string
		}
		Spec struct {
			Deployment struct{ DeploymentRefs []struct{ Name string } }
			Resources  []resource
		}
	}
	documents := documentsOf(t, "controllerregistration.yaml")
	g.Expect(documents).To(HaveLen(2))
	g.Expect(yaml.UnmarshalStrict([]byte(documents[0]), &deployment)).To(Succeed())
	g.Expect(yaml.UnmarshalStrict([]byte(documents[1]), &registration)).To(Succeed())
	g.Expect(registration.Spec.Deployment.DeploymentRefs[0].Name).To(Equal(deployment.Metadata.Name))
	g.Expect(registration.Spec.Resources).To(Equal(everyType()))
	g.Expect(registration.Metadata.Annotations).To(HaveKeyWithValue("security.gardener.cloud/pod-security-enforce", "restricted"))

	chart, err := os.ReadFile(filepath.Join(charts(t), "trellis-operator-9.8.7.tgz"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(deployment.Helm.RawChart).To(Equal(chart))
	values, err := yaml.Marshal(deployment.Helm.Values)
	g.Expect(err).NotTo(HaveOccurred())
	objects := release{chart: "trellis-operator", name: registration.Metadata.Name, namespace: "extension-trellis", values: string(values)}.render(t)
	g.Expect(configurationOf(t, objects).Images).To(HaveKeyWithValue("trellis-probe", "registry.example.org/trellis/trellis-probe:v9.8.7"))
}

// Gardener's operator takes the charts from where `helm push` brings them, and gives both charts of
// the admission the same values.
func TestTheExtensionNamesThePublishedCharts(t *testing.T) {
	g := NewWithT(t)
	type published struct {
		Helm struct{ OCIRepository struct{ Ref string } }
	}
	var extension struct {
		APIVersion, Kind string
		Metadata         struct {
			Name        string
			Annotations map[string]string
		}
		Spec struct {
			Resources  []resource
			Deployment struct {
				Extension struct {
					Helm   struct{ OCIRepository struct{ Ref string } }
					Values map[string]any
				}
				Admission struct {
					RuntimeCluster, VirtualCluster published
					Values                         map[string]any
				}
			}
		}
	}
	g.Expect(yaml.UnmarshalStrict([]byte(documentsOf(t, "extension.yaml")[0]), &extension)).To(Succeed())
	g.Expect(extension.Spec.Resources).To(Equal(everyType()))
	deployment := extension.Spec.Deployment
	for ref, chart := range map[string]string{
		deployment.Extension.Helm.OCIRepository.Ref:                "trellis-operator",
		deployment.Admission.RuntimeCluster.Helm.OCIRepository.Ref: "trellis-admission-runtime",
		deployment.Admission.VirtualCluster.Helm.OCIRepository.Ref: "trellis-admission-application",
	} {
		g.Expect(ref).To(Equal("registry.example.org/trellis/charts/" + chart + ":9.8.7"))
		given := deployment.Admission.Values
		if chart == "trellis-operator" {
			given = deployment.Extension.Values
		}
		values, err := yaml.Marshal(given)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(release{chart: chart, name: "trellis", namespace: "garden", values: string(values)}.render(t)).NotTo(BeEmpty())
	}
}
