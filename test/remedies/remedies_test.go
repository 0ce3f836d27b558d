// SPDX-License-Identifier: Apache-2.0

// Package remedies_test does what docs/errors.md tells users to do. For each error and each warning
// about networks on that page, testdata has a network that causes it, and what its user changes to
// follow the page. The changed network must be valid, and must not cause the message.
package remedies_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// row is one of the tables of docs/errors.md.
type row struct{ section, severity, cause, cure string }

// example is a network that causes a message. Networks are merge patches: Old and Wrong of the
// Shoot in testdata/base.yaml, Cures and New of the wrong network.
type example struct {
	// Says is the cause of the message as docs/errors.md has it.
	Says string
	// Old is the Shoot before an update that is refused; empty if a new Shoot is.
	Old, Wrong json.RawMessage
	// Cures each do what docs/errors.md advises. The user of a network that is only warned of can
	// do so while it runs. New are those that the page advises for new networks and clusters.
	Cures, New []json.RawMessage
	// Unproven is the reason why there is no network with the message, or no cure in the network.
	Unproven string
}

func TestEachMessageHasARemedyThatIsAccepted(t *testing.T) {
	page, unused := rowsOf(t), map[string][]example{}
	for _, one := range page {
		if _, read := unused[one.section]; !read {
			unused[one.section] = yamlFile[[]example](t, one.section+".yaml")
		}
	}
	for _, one := range page {
		t.Run(one.section+": "+one.cause+": "+one.cure, func(t *testing.T) {
			examples := unused[one.section]
			at := slices.IndexFunc(examples, func(each example) bool {
				return each.Says == one.cause && prove(t, one, each, lineOf(one, page))
			})
			if at < 0 {
				t.Fatalf("no network of testdata/%s.yaml causes this; add one, or the reason why there is none", one.section)
			}
			unused[one.section] = slices.Delete(examples, at, at+1)
		})
	}
	if t.Failed() {
		return
	}
	for section, examples := range unused {
		for _, each := range examples {
			t.Errorf("docs/errors.md has no row of %q for this: %s", section, each.Says)
		}
	}
}

// prove applies the remedies of an example. It returns false if the example is for another row,
// with the same cause.
func prove(t *testing.T, one row, each example, says *regexp.Regexp) bool {
	t.Helper()
	g := NewWithT(t)
	if each.Wrong == nil {
		g.Expect(each.Unproven).NotTo(BeEmpty())
		return true
	}
	base := yamlFile[json.RawMessage](t, "base.yaml")
	if one.section != "All networks" {
		base = merged(t, base, []byte(`{"spec":{"networking":{"type":"`+one.section+`"}}}`)).json
	}
	var old *network
	if each.Old != nil {
		old = merged(t, base, each.Old)
	}
	wrong := merged(t, base, each.Wrong)
	valid, report := validate(t, wrong, old)
	if !says.MatchString(report) {
		return false
	}
	g.Expect(valid).To(Equal(one.severity == "warning"), report)
	g.Expect(len(each.Cures)+len(each.New)+len(each.Unproven)).NotTo(BeZero(), "nothing is done about it")
	follow := func(change json.RawMessage, old *network) {
		t.Helper()
		valid, report := validate(t, merged(t, wrong.json, change), old)
		g.Expect(valid).To(BeTrue(), "%s\n%s", change, report)
		g.Expect(report).NotTo(MatchRegexp(says.String()), "%s", change)
	}
	for _, cure := range each.Cures {
		follow(cure, old)
		if one.severity == "warning" && wrong.isShoot() {
			follow(cure, wrong)
		}
	}
	for _, cure := range each.New {
		g.Expect(one.cure).To(MatchRegexp(`new (network|cluster)`), "the page must tell that %s is for new networks", cure)
		follow(cure, nil)
	}
	return true
}

// lineOf matches the line of a report with the message of a row. Where others have the same cause,
// what to do is part of it.
func lineOf(one row, page []row) *regexp.Regexp {
	rest := `((;|:|, not) .*)?`
	for _, other := range page {
		if other.section == one.section && other.severity == one.severity && other.cause == one.cause && other.cure != one.cure {
			rest = "[;:] " + wildcards(strings.ToLower(one.cure[:1])+one.cure[1:])
		}
	}
	return regexp.MustCompile("(?m)^(?i:" + one.severity + "): (.*: )?" + wildcards(one.cause) + rest + "$")
}

// wildcards matches a text in which an ellipsis stands for anything.
func wildcards(text string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), "…", ".*")
}

var (
	heading = regexp.MustCompile(`^### (.*): (error|warning)s$`)
	cells   = regexp.MustCompile(`^\| (.*[^\\]) \| (.*) \|$`)
)

// rowsOf returns the rows about networks.
func rowsOf(t *testing.T) (page []row) {
	t.Helper()
	g := NewWithT(t)
	aboutNetworks := []string{"All networks"}
	for _, one := range plugins.All() {
		aboutNetworks = append(aboutNetworks, one.Type)
	}
	text, err := os.ReadFile("../../docs/errors.md")
	g.Expect(err).NotTo(HaveOccurred())
	var section, severity string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			section, severity = "", ""
		}
		if match := heading.FindStringSubmatch(line); match != nil && slices.Contains(aboutNetworks, match[1]) {
			section, severity = match[1], match[2]
		}
		if match := cells.FindStringSubmatch(line); match != nil && section != "" && match[1] != "Cause" {
			page = append(page, row{section, severity, strings.ReplaceAll(match[1], `\|`, "|"), match[2]})
		}
	}
	g.Expect(len(page)).To(BeNumerically(">", 100))
	return page
}

// network is the input of a command.
type network struct {
	json  json.RawMessage
	flags []string
	// documents are a Shoot without spec.networking.providerConfig, which is in config, or a
	// Network, or both.
	documents map[string]map[string]any
}

func (n *network) isShoot() bool { return n.documents["Shoot"] != nil && n.documents["Network"] == nil }

// merged returns a network that is changed. Besides those of a Shoot, it may have these fields:
// config is the providerConfig of the Shoot, network is a Network, flags are those of the command.
func merged(t *testing.T, base, change json.RawMessage) *network {
	t.Helper()
	g := NewWithT(t)
	patched, err := jsonpatch.MergePatch(base, change)
	g.Expect(err).NotTo(HaveOccurred())
	var n struct {
		Flags   []string
		Network map[string]any
		Config  any
	}
	shoot := map[string]any{}
	g.Expect(json.Unmarshal(patched, &n)).To(Succeed())
	g.Expect(json.Unmarshal(patched, &shoot)).To(Succeed())
	documents := map[string]map[string]any{}
	if spec, has := shoot["spec"].(map[string]any); has {
		if n.Config != nil {
			spec["networking"].(map[string]any)["providerConfig"] = n.Config
		}
		documents["Shoot"] = map[string]any{
			"apiVersion": "core.gardener.cloud/v1beta1", "metadata": shoot["metadata"], "spec": spec, "status": shoot["status"],
		}
	}
	if n.Network != nil {
		n.Network["apiVersion"], n.Network["metadata"] = "extensions.gardener.cloud/v1alpha1", map[string]any{"name": "mine"}
		documents["Network"] = n.Network
	}
	return &network{patched, n.Flags, documents}
}

// long stands for a value that is longer than a config may be.
const long = "<64 KiB>"

// text returns the documents.
func (n *network) text(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(n.documents)) {
		document := maps.Clone(n.documents[kind])
		document["kind"] = kind
		raw, err := yaml.Marshal(document)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		text.WriteString("---\n" + string(raw))
	}
	return strings.ReplaceAll(text.String(), long, strings.Repeat("x", 64<<10))
}

// validate returns what trellis validate says of a network, and whether it is valid. old is the
// Shoot before an update, or nil.
func validate(t *testing.T, n, old *network) (valid bool, report string) {
	t.Helper()
	args := append([]string{"validate", "-f", "-"}, n.flags...)
	if old != nil {
		file := filepath.Join(t.TempDir(), "old.yaml")
		NewWithT(t).Expect(os.WriteFile(file, []byte(old.text(t)), 0o600)).To(Succeed())
		args = append(args, "--old", file)
	}
	var out bytes.Buffer
	exit := cli.Run(args, cli.Streams{In: strings.NewReader(n.text(t)), Out: &out, Err: &out}, plugins.All(), providers.All())
	return exit == cli.ExitOK, out.String()
}

func yamlFile[T any](t *testing.T, name string) (content T) {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join("testdata", name))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.UnmarshalStrict(text, &content)).To(Succeed(), name)
	return content
}
