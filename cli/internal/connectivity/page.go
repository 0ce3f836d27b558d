// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/text"
)

// maxPageMatrix is how many nodes a matrix has at most on the page.
const maxPageMatrix = 32

//go:embed page.html
var pageTemplate string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"fails": func(cell string) bool { return strings.HasSuffix(cell, failing) }}).Parse(pageTemplate))

// pageContent is what the template shows.
type pageContent struct {
	Headline, Shoot string
	Time            string
	Fails           bool
	Policy          string
	Style           template.CSS
	Script          template.JS
	Groups          []pageGroup
	Matrices        []pageMatrix
	Legend          string
	Data            pageData
}

// pageGroup is a group with the histogram of its latencies.
type pageGroup struct {
	*group
	Most    int // of a bucket
	Buckets []bucket
}

type pageMatrix struct {
	Family string
	Rows   [][]string
}

// pageData is what the script makes its tables of: names and errors are indices of Texts, so that
// a page for 1,000 nodes stays small.
type pageData struct {
	Texts []string `json:"texts"`
	Tests []string `json:"tests"`
	// Families are as in Texts.
	Families []string `json:"families"`
	// Nodes have name, age of the last report in seconds or -1, stale, targets from it, of these
	// failing, targets to it, of these failing, and MTU.
	Nodes [][8]int `json:"nodes"`
	// Targets have family, test, from, to, failing, latency in microseconds or 0, failures,
	// attempts, error or -1, seconds for which it fails or -1, and 1 if full packets do not arrive.
	Targets [][11]int `json:"targets"`
}

// HTML returns the report as a page that needs nothing else: it makes no requests, and runs no
// script but its own.
func (r *Report) HTML() ([]byte, error) {
	content := pageContent{
		Headline: r.headline(), Shoot: text.OneLine(r.Shoot), Time: r.Time.UTC().Format(time.RFC3339), Fails: r.Fails(),
		Style: template.CSS(pageStyle), Script: template.JS(pageScript), Data: r.pageData(), Legend: r.legend(),
	}
	content.Policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'",
		hashOf(pageScript), hashOf(pageStyle))
	for _, g := range r.groups() {
		shown := pageGroup{group: g}
		if g.Test == connectivityv1alpha1.CheckPods {
			shown.Buckets = g.Histogram()
			for _, b := range shown.Buckets {
				shown.Most = max(shown.Most, b.Count)
			}
		}
		content.Groups = append(content.Groups, shown)
	}
	if len(r.Nodes) <= maxPageMatrix {
		for _, family := range families {
			if rows := r.matrix(family); len(rows) > 0 {
				content.Matrices = append(content.Matrices, pageMatrix{string(family), printable(rows)})
			}
		}
	}
	var out bytes.Buffer
	if err := page.Execute(&out, content); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func printable(rows [][]string) [][]string {
	for _, row := range rows {
		for i := range row {
			row[i] = text.OneLine(row[i])
		}
	}
	return rows
}

// hashOf returns the source of a Content Security Policy that allows exactly this text.
func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func (r *Report) pageData() pageData {
	d := pageData{Nodes: [][8]int{}, Targets: [][11]int{}}
	indices := map[string]int{}
	index := func(of string) int {
		of = text.OneLine(of)
		i, has := indices[of]
		if !has {
			i = len(d.Texts)
			indices[of] = i
			d.Texts = append(d.Texts, of)
		}
		return i
	}
	seconds := func(since time.Time) int { return int(max(r.Time.Sub(since), 0) / time.Second) }
	for _, test := range tests {
		d.Tests = append(d.Tests, string(test))
	}
	for _, family := range families {
		d.Families = append(d.Families, string(family))
	}
	for _, s := range r.scores() {
		age := -1
		if s.Reported != nil {
			age = seconds(s.Reported.Time)
		}
		d.Nodes = append(d.Nodes, [8]int{index(s.Name), age, flag(s.Stale), s.From, s.FromFailing, s.To, s.ToFailing, int(s.MTU)})
	}
	for _, e := range r.worst() {
		reason, since := -1, -1
		if e.Error != "" {
			reason = index(e.Error)
		}
		if e.Failing && e.FailingSince != nil {
			since = seconds(e.FailingSince.Time)
		}
		d.Targets = append(d.Targets, [11]int{
			slices.Index(families, e.Family), slices.Index(tests, e.Test), index(e.From), index(e.To), flag(e.Failing), int(e.LatencyMicroseconds),
			int(e.Failures), int(e.Attempts), reason, since, flag(e.FullSizePackets != nil && !*e.FullSizePackets),
		})
	}
	return d
}
