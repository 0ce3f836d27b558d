// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/admission"
	"github.com/trellis-network/trellis/test/contract"
)

// example is an entry of testdata/shoots.yaml, which says what its fields mean.
type example struct {
	Name string         `json:"name"`
	Old  map[string]any `json:"old"`
	New  map[string]any `json:"new"`
	As   string         `json:"as"`
	Want string         `json:"want"`
	At   []string       `json:"at"`

	shoot *unstructured.Unstructured
}

// warned collects the warnings of an API server.
type warned struct {
	mutex sync.Mutex
	texts []string
}

func (w *warned) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warned) taken() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	taken := w.texts
	w.texts = nil
	return taken
}

// kubectl shows each answer, to the last cause and warning. The structured answer, which it makes
// its text of, has the fields that are compared.
func TestTheGardenAnswersUsers(t *testing.T) {
	contract.Shows(t, "A2", "A3", "A4", "A5")
	g := setup(t)
	examples := g.examples()
	for _, each := range examples {
		if each.Old != nil {
			g.makeOld(each)
		}
	}
	g.admits()

	var warnings warned
	config := rest.CopyConfig(g.Config)
	config.WarningHandlerWithContext = &warnings
	user, err := client.New(config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	answers, cache := "", t.TempDir()
	for _, each := range examples {
		shoot := g.changed(each)
		shown := g.kubectl(shoot, each.Old == nil, cache)
		if each.Old == nil {
			err = user.Create(t.Context(), shoot, client.DryRunAll)
		} else {
			err = user.Update(t.Context(), shoot, client.DryRunAll)
		}
		got, at, text := answerOf(g, err, warnings.taken())
		var wanted []string
		for _, field := range each.At {
			if strings.HasPrefix(field, ".") {
				field = "spec.networking.providerConfig" + field
			}
			wanted = append(wanted, field)
		}
		if got != each.Want || fmt.Sprint(at) != fmt.Sprint(wanted) {
			t.Errorf("%s: %s at %v, and not %s at %v:\n%s", each.Name, got, at, each.Want, wanted, text)
		}
		for line := range strings.Lines(text) {
			g.Expect(shown).To(ContainSubstring(asKubectlShows(line)), each.Name)
		}
		answers += "# " + each.Name + "\n" + text
	}
	if os.Getenv("UPDATE") != "" {
		g.Expect(os.WriteFile("testdata/answers.txt", []byte(answers), 0o644)).To(Succeed())
	}
	expected, err := os.ReadFile("testdata/answers.txt")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answers).To(Equal(string(expected)))
}

// examples reads the examples. The Shoot of each is the one before the update, if there is any.
func (g *garden) examples() (examples []*example) {
	g.t.Helper()
	content, err := os.ReadFile("testdata/shoots.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.UnmarshalStrict(content, &examples)).To(Succeed())
	g.Expect(len(examples)).To(BeNumerically(">=", 80))
	for i, each := range examples {
		each.shoot = g.shoot(fmt.Sprintf("example-%d", i), "{}")
		g.mergeMap(each.shoot, each.Old)
	}
	return examples
}

// changed returns the Shoot that the user of an example creates, or updates the old one to.
func (g *garden) changed(each *example) *unstructured.Unstructured {
	g.t.Helper()
	shoot := each.shoot.DeepCopy()
	g.mergeMap(shoot, each.New)
	if each.As == "annotated" {
		shoot.SetAnnotations(map[string]string{"example": "annotated"})
	}
	return shoot
}

// migrating is the status of a Shoot whose control plane is about to move.
const migrating = `{"status":{"technicalID":"shoot--dev--example","lastOperation":{"type":"Migrate","state":"Processing","progress":1,"description":"","lastUpdateTime":"2026-01-01T00:00:00Z"}}}`

// makeOld creates the Shoot before the update.
func (g *garden) makeOld(each *example) {
	g.t.Helper()
	if each.As == "deleting" {
		each.shoot.SetFinalizers([]string{"example.com/keep"})
		g.t.Cleanup(func() {
			g.Expect(g.Patch(context.Background(), each.shoot, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		})
	}
	g.Expect(g.Create(g.t.Context(), each.shoot)).To(Succeed(), each.Name)
	switch each.As {
	case "deleting":
		g.Expect(g.Delete(g.t.Context(), each.shoot)).To(Succeed())
		g.Read(g.t, each.shoot)
	case "migrating":
		g.Expect(g.Status().Patch(g.t.Context(), each.shoot, client.RawPatch("application/merge-patch+json", []byte(migrating)))).To(Succeed())
	}
}

// answerOf returns what an API server answered, in one word, with the fields of the causes, and as
// text.
func answerOf(g *garden, err error, warnings []string) (answer string, at []string, text string) {
	var refused *apierrors.StatusError
	switch {
	case errors.As(err, &refused):
		answer = "refused"
		g.Expect(refused.ErrStatus.Reason).To(Equal(metav1.StatusReasonInvalid), err.Error())
		g.Expect(refused.ErrStatus.Message).To(ContainSubstring(`validate.admission.trellis.network" denied the request`))
		for _, cause := range refused.ErrStatus.Details.Causes {
			at = append(at, cause.Field)
			text += fmt.Sprintf("refused: %s: %s\n", cause.Field, cause.Message)
		}
	case err != nil:
		g.Expect(err).NotTo(HaveOccurred())
	case len(warnings) > 0:
		answer = "warned"
	default:
		return "admitted", nil, "admitted\n"
	}
	for _, warning := range warnings {
		text += "warning: " + warning + "\n"
	}
	return answer, at, text
}

// What the webhook states in Shoots.
func TestShootsAreCompleted(t *testing.T) {
	g := setup(t)
	azure := g.shoot("old", "{networking: {type: calico, providerConfig: {overlay: {enabled: true}}}, provider: {type: azure}}")
	g.Expect(g.Create(t.Context(), azure)).To(Succeed())
	proxied := g.shoot("proxied", "{networking: {type: cilium}, kubernetes: {kubeProxy: {enabled: true}}}")
	g.Expect(g.Create(t.Context(), proxied)).To(Succeed())
	g.admits()
	const apiVersion = "calico.networking.extensions.gardener.cloud/v1alpha1"
	for name, test := range map[string]struct{ spec, want string }{
		"cilium does what kube-proxy does":           {"{networking: {type: cilium}}", "{kubernetes: {kubeProxy: {enabled: false}}}"},
		"also if the user does not want it":          {"{networking: {type: cilium}, kubernetes: {kubeProxy: {enabled: true, mode: IPVS}}}", "{kubernetes: {kubeProxy: {enabled: false, mode: IPVS}}}"},
		"where there are routes there is no overlay": {"{networking: {type: calico}, provider: {type: azure}}", "{networking: {providerConfig: {apiVersion: " + apiVersion + ", kind: NetworkConfig, overlay: {enabled: false}}}}"},
		"beside what the user wrote":                 {"{networking: {type: calico, providerConfig: {typha: {enabled: false}}}, provider: {type: azure}}", "{networking: {providerConfig: {overlay: {enabled: false}}}}"},
		"unless the user wants one":                  {"{networking: {type: calico, providerConfig: {overlay: {enabled: true}}}, provider: {type: azure}}", "{}"},
		"or something of the kind":                   {"{networking: {type: calico, providerConfig: {vxlan: {enabled: true}}}, provider: {type: azure}}", "{}"},
		"or addresses to which no route leads":       {"{networking: {type: calico, providerConfig: {ipam: {type: calico-ipam}}}, provider: {type: aws}}", "{}"},
		"with routes of its own":                     {"{networking: {type: calico, providerConfig: {overlay: {enabled: false}}}, provider: {type: openstack}}", "{networking: {providerConfig: {overlay: {createPodRoutes: true}}}}"},
		"also with cilium":                           {"{networking: {type: cilium, providerConfig: {debug: true}}, provider: {type: openstack}}", "{kubernetes: {kubeProxy: {enabled: false}}, networking: {providerConfig: {overlay: {enabled: false, createPodRoutes: true}}}}"},
		"with DNS servers that know pods":            {"{networking: {type: calico, providerConfig: {overlay: {enabled: false}}}, provider: {type: alicloud}}", "{networking: {providerConfig: {snatToUpstreamDNS: {enabled: false}}}}"},
		"where there are no routes there is one":     {"{networking: {type: calico}}", "{}"},
		"flannel needs nothing":                      {"{networking: {type: flannel}}", "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &garden{WithT: NewWithT(t), t: t, Cluster: g.Cluster, namespace: g.namespace}
			shoot, wanted := g.shoot("new", test.spec), g.shoot("new", test.spec)
			g.merge(wanted, test.want)
			g.Expect(g.Create(t.Context(), shoot, client.DryRunAll)).To(Succeed())
			g.Expect(shoot.Object["spec"]).To(Equal(wanted.Object["spec"]))
		})
	}
	without := azure.DeepCopy()
	g.merge(without, "{networking: {providerConfig: {overlay: null, typha: {enabled: true}}}}")
	g.Expect(g.Update(t.Context(), without, client.DryRunAll)).To(Succeed())
	g.merge(azure, "{networking: {providerConfig: {typha: {enabled: true}}}}")
	g.Expect(without.Object["spec"]).To(Equal(azure.Object["spec"]), "an overlay that is left out stays")
	g.merge(proxied, "{kubernetes: {version: 1.36.4}}")
	before := proxied.DeepCopy()
	g.Expect(g.Update(t.Context(), proxied, client.DryRunAll)).To(Succeed())
	g.Expect(proxied.Object["spec"]).To(Equal(before.Object["spec"]), "kube-proxy stays in a cluster that exists")
}

// Without Gardener a Shoot says what is there already.
func TestStandaloneNothingIsStatedInShoots(t *testing.T) {
	g := setup(t)
	g.admits(func(o *admission.Options) { o.Standalone = true })
	for _, spec := range []string{
		"{networking: {type: cilium}}",
		"{networking: {type: cilium}, kubernetes: {kubeProxy: {enabled: true}}}",
		"{networking: {type: calico}, provider: {type: aws}}",
	} {
		shoot := g.shoot("new", spec)
		wanted := shoot.DeepCopy()
		g.Expect(g.Create(t.Context(), shoot, client.DryRunAll)).To(Succeed())
		g.Expect(shoot.Object["spec"]).To(Equal(wanted.Object["spec"]), spec)
	}
}

// kubectl returns what kubectl prints when it creates or replaces a Shoot in a dry run.
func (g *garden) kubectl(shoot *unstructured.Unstructured, isNew bool, cache string) string {
	g.t.Helper()
	raw, err := yaml.Marshal(shoot.Object)
	g.Expect(err).NotTo(HaveOccurred())
	verb := "replace"
	if isNew {
		verb = "create"
	}
	box := landscape.Get(g.t)
	command := exec.CommandContext(g.t.Context(), box.Kubectl, "--kubeconfig", box.Seed.Kubeconfig,
		"--cache-dir", cache, verb, "--dry-run=server", "-f", "-")
	command.Stdin = bytes.NewReader(raw)
	output, _ := command.CombinedOutput() // its exit status says less than its output
	return string(output)
}

// asKubectlShows returns what kubectl shows of a line of an answer.
func asKubectlShows(line string) string {
	word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
	switch word {
	case "refused":
		return rest
	case "warning":
		return "Warning: " + rest
	}
	return "(server dry run)"
}

func (g *garden) mergeMap(shoot *unstructured.Unstructured, change map[string]any) {
	g.t.Helper()
	raw, err := yaml.Marshal(change)
	g.Expect(err).NotTo(HaveOccurred())
	g.merge(shoot, string(raw))
}
