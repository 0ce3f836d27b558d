// SPDX-License-Identifier: Apache-2.0

// Package commandline changes the flags of a container as the program in it parses them. It
// knows the flags of Kubernetes' components (github.com/spf13/pflag): --name=value, or --name
// and its value as two entries; underscores in a name count as hyphens; nothing after the entry
// "--" is a flag. Flags in a script, as of sh -c, are not found. A value of another flag is taken
// for a flag if it is an entry of its own that begins with two hyphens.
//
// A change keeps all other entries, and their order. What is in force already is left as it is
// written, so that a change applied twice is the same as one.
package commandline

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// String is a flag with one value, by its name without the leading hyphens. If a command line
// has it several times, the program heeds the last one.
type String string

// Ensure sets the flag to a value. A flag that is there with another value, or several times, is
// replaced where it is first; one that is missing is added behind all flags.
func (s String) Ensure(c *corev1.Container, value string) {
	l := lineOf(c)
	found, end := l.find(string(s))
	if len(found) == 1 && found[0].complete && found[0].value == value {
		return
	}
	l.put(string(s), value, found, end)
	l.store(c)
}

// Remove removes the flag, however often it is there.
func (s String) Remove(c *corev1.Container) {
	l := lineOf(c)
	found, _ := l.find(string(s))
	if len(found) == 0 {
		return
	}
	l.remove(found)
	l.store(c)
}

// List is a flag with a list of values, separated by commas. If a command line has it several
// times, the program appends the lists.
type List string

// Ensure appends an item, which has no comma, unless the list has it. Several lists become one,
// in their order, where the first of them is. A flag that is missing is added behind all flags.
func (f List) Ensure(c *corev1.Container, item string) {
	l := lineOf(c)
	found, end := l.find(string(f))
	var items []string
	for _, each := range found {
		if each.value != "" {
			items = append(items, strings.Split(each.value, ",")...)
		}
	}
	contained := slices.Contains(items, item)
	if contained && len(found) == 1 {
		return
	}
	if !contained {
		items = append(items, item)
	}
	l.put(string(f), strings.Join(items, ","), found, end)
	l.store(c)
}

// entry is one of a container's command, or of its args.
type entry struct {
	text  string
	isArg bool
}

// line is a container's command with its args, as one list.
type line []entry

// occurrence is where a flag is in a line.
type occurrence struct {
	at, length int
	value      string
	// complete is false for a flag at the end of the line that lacks its value.
	complete bool
}

func lineOf(c *corev1.Container) *line {
	l := make(line, 0, len(c.Command)+len(c.Args)+1)
	for _, each := range c.Command {
		l = append(l, entry{each, false})
	}
	for _, each := range c.Args {
		l = append(l, entry{each, true})
	}
	return &l
}

// find returns where the flag is, and where the flags end.
func (l *line) find(name string) (found []occurrence, end int) {
	all := *l
	for i := 0; i < len(all); i++ {
		if i == 0 && !all[i].isArg {
			continue // the program
		}
		if all[i].text == "--" {
			return found, i
		}
		text, isFlag := strings.CutPrefix(all[i].text, "--")
		written, value, joined := strings.Cut(text, "=")
		switch {
		case !isFlag || hyphenated(written) != hyphenated(name):
		case joined:
			found = append(found, occurrence{i, 1, value, true})
		case i+1 < len(all):
			found = append(found, occurrence{i, 2, all[i+1].text, true})
			i++
		default:
			found = append(found, occurrence{at: i, length: 1})
		}
	}
	return found, len(all)
}

// put writes the flag where it was found first, or at the end, and removes it elsewhere.
func (l *line) put(name, value string, found []occurrence, end int) {
	next := entry{text: "--" + name + "=" + value}
	at := end
	switch {
	case len(found) > 0:
		at = found[0].at
		next.isArg = (*l)[at].isArg
	case end < len(*l):
		next.isArg = (*l)[end].isArg
	default:
		next.isArg = end == 0 || (*l)[end-1].isArg
	}
	l.remove(found)
	*l = slices.Insert(*l, at, next)
}

func (l *line) remove(found []occurrence) {
	for _, each := range slices.Backward(found) {
		*l = slices.Delete(*l, each.at, each.at+each.length)
	}
}

func (l *line) store(c *corev1.Container) {
	c.Command, c.Args = nil, nil
	for _, each := range *l {
		if each.isArg {
			c.Args = append(c.Args, each.text)
		} else {
			c.Command = append(c.Command, each.text)
		}
	}
}

func hyphenated(name string) string { return strings.ReplaceAll(name, "_", "-") }
