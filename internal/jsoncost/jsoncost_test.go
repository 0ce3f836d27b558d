// SPDX-License-Identifier: Apache-2.0

package jsoncost

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
)

// scan reads a document at once, and in parts of one byte, which must make no difference.
func scan(g *WithT, document string) (ended int, err error) {
	ended, err = (&Scanner{}).Scan([]byte(document))
	s, count := &Scanner{}, 0
	var failed error
	for i := 0; i < len(document) && failed == nil; i++ {
		var n int
		n, failed = s.Scan([]byte{document[i]})
		count += n
	}
	g.Expect(count).To(Equal(ended))
	if err == nil {
		g.Expect(failed).NotTo(HaveOccurred())
	} else {
		g.Expect(failed).To(Equal(err))
	}
	return ended, err
}

// list returns a document with a list of n elements.
func list(element string, n int) string {
	return `{"a":[` + strings.Repeat(element+",", n-1) + element + `]}`
}

// Of each sort of values, a document may have as many as become some ten megabytes.
func TestDocumentsOfManyValuesAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		document func(n int) string
		most     int
	}{
		"objects":             {func(n int) string { return list("{}", n) }, 80_000},
		"nulls in a list":     {func(n int) string { return list("null", n) }, 80_000},
		"numbers in a list":   {func(n int) string { return list("0", n) }, 80_000},
		"numbers after space": {func(n int) string { return list(" \n0", n) }, 80_000},
		"texts in a list":     {func(n int) string { return list(`""`, n) }, 499_000},
		"fields":              {func(n int) string { return "{" + strings.Repeat(`"a":0,`, n) + `"a":0}` }, 499_000},
		"lists in lists": {func(n int) string {
			return list(strings.Repeat("[", 1000)+strings.Repeat("]", 1000), n/1000)
		}, 498_000},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ended, err := scan(g, test.document(test.most))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ended).To(Equal(1))
			_, err = scan(g, test.document(test.most*13/10))
			g.Expect(err).To(Equal(ErrObjects))
		})
	}
}

func TestDeepDocumentsAreRefused(t *testing.T) {
	g := NewWithT(t)
	_, err := scan(g, strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = scan(g, strings.Repeat("[", maxDepth+1))
	g.Expect(err).To(Equal(ErrObjects))
}

// Each document has the limits of its own, and texts may have braces.
func TestDocumentsAreCountedOneByOne(t *testing.T) {
	g := NewWithT(t)
	for stream, documents := range map[string]int{
		"{}{}{}": 3, "{}\n[]\n": 2, `{"a":[{},{}]}`: 1, `{"a":"}{\"}{"}{}`: 2, `{"a":"\\"}{}`: 2, `{"a":{}`: 0, "]}": 2,
	} {
		ended, err := scan(g, stream)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ended).To(Equal(documents), stream)
	}
	ended, err := scan(g, strings.Repeat(`{"a":[{}]}`+"\n", MaxObjects))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ended).To(Equal(MaxObjects))
	s := &Scanner{}
	_, _ = s.Scan([]byte(`{} {"a`))
	g.Expect(s.Size).To(Equal(4))
}

// Kubernetes' quantities calculate with all their digits.
func TestNumbersThatTakeLongToParseAreRefused(t *testing.T) {
	g := NewWithT(t)
	for _, refused := range []string{
		`"1e-1000000000"`, `"1E-1000"`, `"+1e-100"`, `" 1e-1000000000 "`, "\"\u00a01e-1000000000\"", `1e-1000000000`, `-1e-1000000000 `, `"0.1e-1000"`,
		`"1234567890123456789e1000000000"`, `"1234567890.23456789e+1000000000"`, `"1e3294967296"`, `"1e0000000000000001"`,
		`"` + strings.Repeat("9", maxDigits+1) + `"`, strings.Repeat("9", maxDigits+1), `"0.` + strings.Repeat("9", maxDigits) + `Ki"`,
	} {
		_, err := scan(g, `{"a":`+refused+`}`)
		g.Expect(err).To(Equal(ErrNumber), refused[:min(len(refused), 40)])
	}
	// What is like it in hashes, names and texts, and what takes no time.
	for _, taken := range []string{
		`"100m"`, `"64Gi"`, `"1e18"`, `"1e-9"`, `1.5e-10`, `"12e4567"`, `"1e100000000"`, `"12345678901234567e999"`, `"0.5"`, `"-1"`, `1764111111111`,
		`"5e1-2e-1000"`, `"sha256:1e-1000"`, `"a loss of 1e-1000"`, `"1e-1000 is small"`, `"he said \"1e-1000\""`, `"v1e-1000"`, `"1e-1000x"`, `"1e-10.00"`, `"` + strings.Repeat("9a", maxDigits) + `"`, `"` + strings.Repeat("9", maxDigits) + `"`,
	} {
		_, err := scan(g, `{"a":`+taken+`}`)
		g.Expect(err).NotTo(HaveOccurred(), taken[:min(len(taken), 40)])
	}
}

// Whatever number passes is parsed at once.
func TestNumbersThatPassAreParsedAtOnce(t *testing.T) {
	for _, digits := range []string{"1", "12345678901234567", "123456789012345678", "0.000000001", strings.Repeat("9", 500), strings.Repeat("9", 999), "0." + strings.Repeat("9", 998)} {
		for _, exponent := range []string{"", "e9", "e99", "e999", "e99999", "e999999999", "e2147483648", "e4294967295", "e-9", "e-99", "e-999", "E+999999999", "Ki", "E", "n"} {
			quantity := digits + exponent
			if _, err := (&Scanner{}).Scan([]byte(`{"a":"` + quantity + `"}`)); err != nil {
				continue
			}
			began := time.Now()
			_, _ = resource.ParseQuantity(quantity) // not all are valid
			NewWithT(t).Expect(time.Since(began)).To(BeNumerically("<", time.Second), quantity)
		}
	}
}

// What passes does not become more than tens of megabytes.
func TestWhatPassesStaysSmall(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	fields := &strings.Builder{}
	for i := range 490_000 {
		fmt.Fprintf(fields, "%q:0,", fmt.Sprintf("%x", i))
	}
	for name, document := range map[string]string{"lists": list(deep, 99), "fields": "{" + fields.String() + `"z":0}`, "objects": list("{}", 80_000)} {
		g := NewWithT(t)
		_, err := (&Scanner{}).Scan([]byte(document))
		g.Expect(err).NotTo(HaveOccurred())
		var before, after runtime.MemStats
		var decoded any
		runtime.GC()
		runtime.ReadMemStats(&before)
		g.Expect(json.Unmarshal([]byte(document), &decoded)).To(Succeed())
		runtime.GC()
		runtime.ReadMemStats(&after)
		g.Expect(after.HeapAlloc-before.HeapAlloc).To(BeNumerically("<", 64<<20), name)
		t.Logf("%s: %d MiB", name, (after.HeapAlloc-before.HeapAlloc)>>20)
		runtime.KeepAlive(decoded)
	}
}
