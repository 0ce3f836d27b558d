// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
)

// watching is a workload that notices by itself when a ConfigMap changes.
type watching struct{ workload, configMap string }

// checkReads looks for agents that go on with what they have read when they started: of
// those with the same pods, all have to read the same.
func (s *suite) checkReads(found *report) {
	r := &reads{suite: s, report: found, justified: s.watched, needed: map[watching]bool{}, agents: map[string]agents{}, data: map[string]configData{}, seen: map[string]sighting{}}
	for _, n := range slices.Concat(s.networks(), s.drawn(), s.varied()) {
		if n.renders() {
			r.look(n)
		}
	}
	order := func(a, b watching) int { return strings.Compare(a.workload+a.configMap, b.workload+b.configMap) }
	for _, one := range slices.SortedFunc(maps.Keys(s.watched), order) {
		switch {
		case strings.TrimSpace(s.watched[one]) == "":
			found.breach("WithWatched(%q, %q) gives no reason", one.workload, one.configMap)
		case !r.needed[one]:
			found.breach("WithWatched(%q, %q) justifies nothing; remove it, since those pods restart whenever what they read changes", one.workload, one.configMap)
		}
	}
}

// reads is what agents were seen to read. There are thousands of networks and few
// different objects in them, of which each is only looked into once.
type reads struct {
	*suite
	*report
	justified map[watching]string
	needed    map[watching]bool
	agents    map[string]agents
	data      map[string]configData
	// seen is what some pods read, by those pods and the ConfigMap.
	seen map[string]sighting
}

// agents are pods as they are written, and what they read.
type agents struct {
	pods  string
	reads map[string][]string
}

type configData struct {
	Data       map[string]string `json:"data"`
	BinaryData map[string][]byte `json:"binaryData"`
}

// sighting is what was read, and in which network.
type sighting struct{ content, network string }

func (r *reads) look(n network) {
	there := map[string]plugin.Object{}
	objects := slices.Concat(shootGroups(n.result.Objects)...)
	for _, object := range objects {
		if object.GetObjectKind().GroupVersionKind().Kind == "ConfigMap" {
			there[keyOf("ConfigMap", object.GetNamespace(), object.GetName())] = object
		}
	}
	for _, object := range objects {
		if object.GetObjectKind().GroupVersionKind().Kind != "DaemonSet" {
			continue
		}
		workload := documentOf(object, inShoot, "")
		pods := r.agentsOf(workload)
		for configMap, keys := range pods.reads {
			if own, is := there[configMap]; is {
				r.note(n, workload.String(), pods.pods, configMap, r.contentOf(own, keys))
			}
		}
	}
}

func (r *reads) note(n network, workload, pods, configMap, content string) {
	key := workload + "\n" + configMap + "\n" + pods
	was, before := r.seen[key]
	if !before {
		r.seen[key] = sighting{content, n.name}
		return
	}
	if was.content == content {
		return
	}
	r.needed[watching{workload, configMap}] = true
	if _, justified := r.justified[watching{workload, configMap}]; !justified && r.isStable() {
		r.breachIn(fmt.Sprintf("%s, whose pods are those in %s, where what they read was once\n%s", n.name, was.network, difference(was.content, content)),
			"%s reads %s and does not restart when that changes; annotate its pods with system.ChecksumAnnotation and system.Checksum, or tell Run that they notice: plugintest.WithWatched(%q, %q, reason)",
			workload, configMap, workload, configMap)
	}
}

func (r *reads) agentsOf(d document) agents {
	if known, ok := r.agents[d.raw]; ok {
		return known
	}
	one := agents{}
	if w, ok := d.workload(); ok {
		one = agents{textOf(w.Spec.Template), readBy(d.namespace, &w.Spec.Template.Spec)}
	}
	r.agents[d.raw] = one
	return one
}

// contentOf is what a ConfigMap says under some keys, or all of it, a line each.
func (r *reads) contentOf(configMap plugin.Object, keys []string) string {
	raw := documentOf(configMap, inShoot, "").raw
	content, known := r.data[raw]
	if !known {
		// What is no ConfigMap has no data, and an API server says so.
		_ = json.Unmarshal([]byte(raw), &content)
		r.data[raw] = content
	}
	var lines []string
	for name, text := range content.Data {
		if keys == nil || slices.Contains(keys, name) {
			lines = append(lines, name+": "+text)
		}
	}
	for name, data := range content.BinaryData {
		if keys == nil || slices.Contains(keys, name) {
			lines = append(lines, fmt.Sprintf("%s: %x", name, data))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// readBy are the ConfigMaps that a pod reads, with the keys that it reads; nil for all.
func readBy(namespace string, pod *corev1.PodSpec) map[string][]string {
	read := map[string][]string{}
	for _, use := range configMapsOf(pod) {
		key := keyOf("ConfigMap", namespace, use.name)
		if known, is := read[key]; use.keys == nil || is && known == nil {
			read[key] = nil
			continue
		}
		read[key] = append(read[key], use.keys...)
	}
	return read
}

func keysOf(items []corev1.KeyToPath) []string {
	var keys []string
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}
