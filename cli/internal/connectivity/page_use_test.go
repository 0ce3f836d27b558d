// SPDX-License-Identifier: Apache-2.0

package connectivity_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// shown is how much of a table is shown, in words.
func (b *browser) shown(table string) string {
	b.t.Helper()
	return b.text(`document.getElementById("` + table + `-shown").textContent`)
}

// click clicks on the first element that a selector finds.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.text("document.querySelector(`" + selector + "`).click()")
}

// sort clicks on the head of a column, and returns its first cells and how it is sorted then.
func (b *browser) sort(table string, column string) (order string, cells []string) {
	b.t.Helper()
	var number int
	b.evaluate("[...document.querySelectorAll(`#"+table+"-table th button`)].findIndex((b) => b.textContent === `"+column+"`) + 1", &number)
	head := "#" + table + "-table thead th:nth-child(" + string(rune('0'+number)) + ")"
	b.click(head + " button")
	return b.text("document.querySelector(`" + head + "`).getAttribute('aria-sort')"), b.column(table, number)
}

func TestTablesAreSortedByAnyColumn(t *testing.T) {
	g := NewWithT(t)
	b := openPage(t, pageOf(t, 60), "light")
	order, names := b.sort("nodes", "Node")
	g.Expect(order).To(Equal("ascending"))
	g.Expect(names).To(Equal([]string{"node-0000", "node-0001", "node-0002", "node-0003", "node-0004"}))
	order, names = b.sort("nodes", "Node")
	g.Expect(order).To(Equal("descending"))
	g.Expect(names[0]).To(Equal("node-0059"))

	order, reported := b.sort("nodes", "Last report")
	g.Expect(order).To(Equal("descending"), "numbers begin with the largest")
	g.Expect(reported[:2]).To(Equal([]string{"10m ago", "30s ago"}))
	g.Expect(b.text("document.querySelectorAll('#nodes-table [aria-sort]:not([aria-sort=none])').length")).To(Equal("1"), "one column is sorted")

	_, latencies := b.sort("targets", "Latency")
	g.Expect(latencies[0]).To(Equal("1.64"), "those of reached targets")
	_, latencies = b.sort("targets", "Latency")
	g.Expect(latencies[0]).To(Equal("–"), "failing targets have none")
}

func TestTablesAreFiltered(t *testing.T) {
	g := NewWithT(t)
	b := openPage(t, pageOf(t, 60), "light")
	g.Expect(b.shown("targets")).To(Equal("200 of 1416 shown"))
	b.click("#targets ~ .more")
	g.Expect(b.shown("targets")).To(Equal("400 of 1416 shown"))

	b.click("#targets-failing")
	g.Expect(b.shown("targets")).To(Equal("18 of 18 shown"))
	choose := func(name, value string) {
		b.text("((s) => { s.value = [...s.options].find((o) => o.text === '" + value + "').value; s.dispatchEvent(new Event('change')) })(document.getElementById('targets-" + name + "'))")
	}
	choose("test", "pods")
	g.Expect(b.shown("targets")).To(Equal("9 of 9 shown"))
	g.Expect(slices.Compact(b.column("targets", 3))).To(Equal([]string{"pods"}))
	choose("family", "IPv6")
	g.Expect(b.shown("targets")).To(Equal("0 of 0 shown"), "only IPv4 fails")
	choose("family", "all")
	b.text("document.getElementById('targets-filter').focus()")
	b.write("NODE-0052 ")
	g.Expect(b.shown("targets")).To(Equal("5 of 5 shown"), "in whatever case")
	g.Expect(b.shown("nodes")).To(Equal("60 of 60 shown"), "each table has a filter of its own")
}

// All that a mouse does, keys do.
func TestThePageNeedsNoMouse(t *testing.T) {
	g := NewWithT(t)
	b := openPage(t, pageOf(t, 60), "light")
	var passed []string
	for b.press("Tab"); b.focused() != "nodes-filter"; b.press("Tab") {
		passed = append(passed, b.focused())
		g.Expect(len(passed)).To(BeNumerically("<", 20), strings.Join(passed, "\n"))
	}
	b.write("node-000")
	g.Expect(b.shown("nodes")).To(Equal("10 of 10 shown"))
	b.press("Tab", " ")
	g.Expect(b.focused()).To(Equal("nodes-failing"))
	g.Expect(b.shown("nodes")).To(Equal("2 of 2 shown"))
	b.press("Tab")
	g.Expect(b.text("document.activeElement.getAttribute('role') + ' ' + document.activeElement.getAttribute('aria-labelledby')")).To(Equal("region nodes"), "it can be scrolled")
	b.press("Tab", "Enter")
	g.Expect(b.focused()).To(Equal("Node"))
	g.Expect(b.column("nodes", 1)[0]).To(Equal("node-0001"))
	b.press(" ")
	g.Expect(b.column("nodes", 1)[0]).To(Equal("node-0002"), "a space, too, sorts, the other way round")
	g.Expect(b.text("getComputedStyle(document.activeElement).outlineStyle")).To(Equal("solid"), "what has the keyboard can be seen")
}

// The head of a long table stays in view.
func TestHeadsOfTablesStay(t *testing.T) {
	g := NewWithT(t)
	b := openPage(t, pageOf(t, 1000), "light")
	b.text("(document.activeElement.blur(), document.querySelector('#targets-table').parentElement.focus())")
	var before, after float64
	const top = "document.querySelector('#targets-table th').getBoundingClientRect().top"
	b.evaluate(top, &before)
	g.Eventually(func() string {
		b.press("End") // a busy machine may drop a key
		return b.text("document.querySelector('#targets-table').parentElement.scrollTop > 1000")
	}).WithTimeout(30 * time.Second).Should(Equal("true"))
	b.evaluate(top, &after)
	g.Expect(after).To(BeNumerically("~", before, 1))
}

// unreadable returns texts with less contrast than WCAG 2.2 asks for (AA, 4.5 to 1).
const unreadable = `(() => {
  const parts = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => parts(color).slice(0, 3).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if ((parts(c)[3] ?? 1) > 0) return c; } return "rgb(255, 255, 255)"; };
  const found = new Set();
  for (const e of document.querySelectorAll("body *")) for (const pseudo of [null, "::after"]) {
    const has = pseudo ? !["none", "normal"].includes(getComputedStyle(e, pseudo).content) : [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!has || ["SCRIPT", "NOSCRIPT"].includes(e.tagName) || !e.getClientRects().length) continue;
    const [a, b] = [getComputedStyle(e, pseudo).color, behind(e)].map(luminance);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.add(e.tagName + " " + e.className + " " + contrast.toFixed(2));
  }
  return [...found];
})()`

func TestTextsHaveContrast(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			b := openPage(t, pageOf(t, 3), scheme)
			var found []string
			b.evaluate(unreadable, &found)
			NewWithT(t).Expect(found).To(BeEmpty())
		})
	}
}

// A user who hears the page hears the name of each table, and of each part that has the keyboard.
func TestPartsOfThePageHaveNames(t *testing.T) {
	g := NewWithT(t)
	b := openPage(t, pageOf(t, 3), "light")
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value any }
			Properties []struct {
				Name  string
				Value struct{ Value any }
			}
		}
	}
	b.call("Accessibility.getFullAXTree", nil, &tree)
	var names []string
	for _, node := range tree.Nodes {
		role, _ := node.Role.Value.(string)
		name, _ := node.Name.Value.(string)
		focusable := false
		for _, property := range node.Properties {
			focusable = focusable || property.Name == "focusable" && property.Value.Value == true
		}
		if !node.Ignored && (focusable || slices.Contains([]string{"table", "region", "meter"}, role)) {
			g.Expect(name).NotTo(BeEmpty(), "%+v", node)
			names = append(names, role+" "+name)
		}
	}
	g.Expect(names).To(ContainElements("RootWebArea Failing: Connectivity of shoot--dev--mine/mine", "table Tests", "table Latency to pods, IPv6",
		"meter < 0.50 ms", "searchbox Filter", "checkbox Only failing", "combobox Family", "button Fails for", "region Targets"))
}
