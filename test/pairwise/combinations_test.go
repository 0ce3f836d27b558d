// SPDX-License-Identifier: Apache-2.0

package pairwise

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/sandbox"
)

var landscape = sandbox.Share(sandbox.Options{})

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// controlPlane is the namespace of the shoot in the seed.
const controlPlane = "shoot--dev--one"

// document is an object, its JSON, and the first combination that renders it.
type document struct {
	object plugin.Object
	raw    string
	row    Row
}

// A real API server accepts every field of what a valid combination renders. The pipeline
// rejects every other combination with the path of the wrong field.
func TestTheAPIServerAcceptsEveryCombination(t *testing.T) {
	for _, one := range subjects {
		t.Run(one.Type, func(t *testing.T) { tryCombinations(t, &one) })
	}
}

func tryCombinations(t *testing.T, of *subject) {
	start := time.Now()
	all := of.options(t)
	dims := dimensions(all)
	c := newCombinations(t, of.Type, all)
	rows, alone := Cover(dims, c.valid)
	covering := time.Since(start)
	documents, objects := c.documents(rows)

	server := newServer(t)
	server.prepare(documents)
	start = time.Now()
	refused := server.tryAll(documents)
	for _, one := range refused {
		t.Errorf("%s %s with %s: %v", one.object.GetObjectKind().GroupVersionKind().Kind, one.object.GetName(), names(dims, one.row), one.err)
	}
	possible := 1.0
	for _, dimension := range dims {
		possible *= float64(len(dimension.Values))
	}
	t.Logf("The API server (%s) accepted %d of %d combinations of %d options (there are 10^%.0f): %d objects, %d different ones.",
		landscape.Get(t).KubernetesVersion, len(rows)-rowsOf(refused), len(rows), len(dims), math.Log10(possible), objects, len(documents))
	t.Logf("%d pairs of values exclude each other; the pipeline rejected %d combinations with a path, for %d reasons. Finding the combinations took %s, applying them %s.",
		len(alone), c.refusals, len(c.reasons), covering.Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
	for _, line := range impossible(dims, rows, alone) {
		t.Log(line)
	}
	if len(rows) < 20 {
		t.Errorf("found only %d valid combinations", len(rows))
	}
}

// The tests are only valid if the API server rejects invalid objects.
func TestTheAPIServerIsStrict(t *testing.T) {
	server := newServer(t)
	config := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	config.Name, config.Namespace = "strict", "kube-system"
	const start = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"strict","namespace":"kube-system"}`
	for name, test := range map[string]struct{ rest, wants string }{
		"fine":             {`,"data":{"a":"b"}}`, ""},
		"an unknown field": {`,"date":{}}`, "date"},
		"a field twice":    {`,"data":{"a":"b"},"data":{"a":"c"}}`, "data"},
		"a wrong type":     {`,"data":{"a":1}}`, ""},
	} {
		err := server.try(document{object: config, raw: start + test.rest})
		if (err == nil) != (name == "fine") || err != nil && !strings.Contains(err.Error(), test.wants) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// impossible lists the values that no valid combination has, and the pairs of other values that
// exclude each other.
func impossible(dims []Dimension, rows []Row, alone []Pair) []string {
	var lines []string
	never := map[[2]int]bool{}
	for d, dimension := range dims {
		for v, value := range dimension.Values {
			if !slices.ContainsFunc(rows, func(row Row) bool { return row[d] == v }) {
				never[[2]int{d, v}] = true
				lines = append(lines, fmt.Sprintf("never: %s: %s", dimension.Name, value))
			}
		}
	}
	for _, pair := range alone {
		if !never[[2]int{pair.D1, pair.V1}] && !never[[2]int{pair.D2, pair.V2}] {
			lines = append(lines, fmt.Sprintf("not together: %s: %s, %s: %s",
				dims[pair.D1].Name, dims[pair.D1].Values[pair.V1], dims[pair.D2].Name, dims[pair.D2].Values[pair.V2]))
		}
	}
	return lines
}

// combinations builds rows.
type combinations struct {
	testing.TB
	network  string // its type
	options  []option
	pipeline *pipeline.Pipeline
	refusals int
	reasons  map[string]bool // why combinations were rejected
	known    map[string]bool // whether a row is valid
}

func newCombinations(tb testing.TB, network string, options []option) *combinations {
	p, err := pipeline.New(plugins.All(), providers.All())
	if err != nil {
		tb.Fatal(err)
	}
	return &combinations{TB: tb, network: network, options: options, pipeline: p, reasons: map[string]bool{}, known: map[string]bool{}}
}

// valid reports whether the row renders. It fails the test if the pipeline rejects the row
// with an error that has no path or no reason.
func (c *combinations) valid(row Row) bool {
	key := fmt.Sprint(row)
	if valid, ok := c.known[key]; ok {
		return valid
	}
	result := c.build(row)
	for _, err := range result.Errors {
		if err.Type == field.ErrorTypeInternal || !strings.HasPrefix(err.Field, "spec.") || err.Detail == "" {
			c.Errorf("%s is rejected with: %v", names(dimensions(c.options), row), err)
		}
		c.reasons[err.Field+": "+err.Detail] = true
	}
	c.known[key] = len(result.Errors) == 0
	if !c.known[key] {
		c.refusals++
	}
	return c.known[key]
}

func (c *combinations) build(row Row) pipeline.Result {
	result, err := scenarioOf(c.network, c.options, row).build(c.pipeline)
	if err != nil {
		c.Fatal(err)
	}
	return result
}

// documents returns the different objects of the rows, and the number of all objects.
func (c *combinations) documents(rows []Row) (different []document, all int) {
	seen := map[string]bool{}
	for _, row := range rows {
		objects := c.build(row).Objects
		for _, bundle := range objects.Bundles {
			group := bundle.Objects
			for _, object := range group {
				raw, err := plugin.AppendJSON(nil, object)
				if err != nil {
					c.Fatal(err)
				}
				all++
				if !seen[string(raw)] {
					seen[string(raw)] = true
					different = append(different, document{object, string(raw), row})
				}
			}
		}
	}
	return different, all
}

func rowsOf(refused []refusal) int {
	rows := map[string]bool{}
	for _, one := range refused {
		rows[fmt.Sprint(one.row)] = true
	}
	return len(rows)
}
