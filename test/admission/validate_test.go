// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// nothingToValidate are Shoots that trellis-admission admits unchecked. Users who ask the command line
// about them have made a mistake, of which it tells.
var nothingToValidate = map[string]string{
	"no workers":                 "refused: spec.provider.workers: Required value: a Shoot without workers has no pod network; list the workers of one that is to have a network\n",
	"another type with nonsense": "refused: spec.networking.type: Unsupported value: \"other\"",
}

// withoutPolicies is what the line on packets says instead of a warning.
const withoutPolicies = "warning: spec.networking.type: NetworkPolicies have no effect in a network of flannel; give a new network another type if pods rely on them\n"

// The command line answers each example as the garden does, without a cluster.
// TestTheGardenAnswersUsers compares answers.txt with what the garden answers.
func TestValidateAnswersAsTheGardenDoes(t *testing.T) {
	content, err := os.ReadFile("testdata/answers.txt")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	answers := map[string]string{}
	for _, one := range strings.Split("\n"+string(content), "\n# ")[1:] {
		name, text, _ := strings.Cut(one, "\n")
		answers[name] = strings.TrimSuffix(text, "\n") + "\n"
	}
	g := &garden{WithT: NewWithT(t), t: t, namespace: "garden-dev"}
	for _, each := range g.examples() {
		t.Run(each.Name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(answers).To(HaveKey(each.Name))
			said := validated(t, each, (&garden{WithT: g, t: t}).changed(each))
			if text, isNothing := nothingToValidate[each.Name]; isNothing {
				g.Expect(said).To(HavePrefix(text))
				return
			}
			answer := answers[each.Name]
			if strings.HasPrefix(answer, "refused: ") {
				answer = strings.Replace(answer, withoutPolicies, "", 1) // there is no line on packets
			}
			g.Expect(said).To(Equal(answer))
		})
	}
}

// validated returns what the command line says of an example, as answers.txt has it.
func validated(t *testing.T, each *example, shoot *unstructured.Unstructured) string {
	t.Helper()
	g := NewWithT(t)
	write := func(name string, shoot *unstructured.Unstructured) string {
		file := filepath.Join(t.TempDir(), name)
		text, err := yaml.Marshal(shoot.Object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
		return file
	}
	file := write("new.yaml", shoot)
	args := []string{"validate", file}
	if each.Old != nil {
		args = append(args, "--old", write("old.yaml", inGarden(t, each)))
	}
	var out bytes.Buffer
	exit := cli.Run(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, plugins.All(), providers.All())
	said := ""
	for line := range strings.Lines(out.String()) {
		line = strings.Replace(line, ": "+file+": ", ": ", 1)
		if rest, isError := strings.CutPrefix(line, "error: "); isError {
			said += "refused: " + rest
		} else if strings.HasPrefix(line, "warning: ") {
			said += line
		}
		if strings.HasPrefix(line, "packets: ") && strings.HasSuffix(line, "; NetworkPolicies have no effect\n") && each.Old == nil {
			said += withoutPolicies
		}
	}
	g.Expect(exit == cli.ExitOK).To(Equal(!strings.HasPrefix(said, "refused: ")), out.String())
	if said == "" {
		return "admitted\n"
	}
	return said
}

// inGarden returns the Shoot before the update as a garden has it.
func inGarden(t *testing.T, each *example) *unstructured.Unstructured {
	t.Helper()
	old := each.shoot.DeepCopy()
	old.SetUID("7a")
	switch each.As {
	case "deleting":
		old.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	case "migrating":
		NewWithT(t).Expect(json.Unmarshal([]byte(migrating), &old.Object)).To(Succeed())
	}
	return old
}
