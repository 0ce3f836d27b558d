// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/test/built"
)

// What a network of IPv4 has whose user wrote nothing: its config in force, and all that
// agents and operator are told. UPDATE=1 writes both files.
const (
	defaultConfig   = "testdata/default-config.yaml"
	defaultSettings = "testdata/default-settings.yaml"
)

// expectGolden fails unless a file has value, and writes it with UPDATE=1.
func expectGolden(t *testing.T, file string, value any) {
	t.Helper()
	g := NewWithT(t)
	content, err := yaml.Marshal(value)
	g.Expect(err).NotTo(HaveOccurred())
	if os.Getenv("UPDATE") != "" {
		g.Expect(os.WriteFile(file, content, 0o644)).To(Succeed())
	}
	g.Expect(string(content)).To(Equal(built.File(t, file)), "UPDATE=1 go test ./plugins/cilium writes %s", file)
}

func settingsOf(t *testing.T, file string) settings {
	t.Helper()
	var all settings
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(built.File(t, file)), &all)).To(Succeed())
	return all
}

func TestEverySettingOfADefaultNetwork(t *testing.T) {
	expectGolden(t, defaultSettings, build(t, "").data("cilium-config"))
}

func TestEveryDefaultIsExplicitButTheThirdStateOfOverlay(t *testing.T) {
	var config map[string]any
	decode(t, string(build(t, "").Config), &config)
	expectGolden(t, defaultConfig, config)
	NewWithT(t).Expect(config).NotTo(HaveKey("overlay"))
}
