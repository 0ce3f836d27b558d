// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
)

// seenContent is what agents read, and in which network.
type seenContent struct{ content, network string }

// checkReads finds agents that do not notice a change of what they have read when they
// started: those with the same pods must all read the same.
func checkReads(s *suite, found *report) {
	seen := map[[3]string]seenContent{} // by workload, its pods and the ConfigMap
	for _, n := range slices.Concat(s.networks(), s.drawn(), s.varied()) {
		if !n.renders() {
			continue
		}
		inShoot := n.result.Objects.For(plugin.Shoot)
		configMaps := map[string]plugin.Object{}
		for _, object := range inShoot {
			if object.GetObjectKind().GroupVersionKind().Kind == "ConfigMap" {
				configMaps[nameOf(object)] = object
			}
		}
		for name, agents := range s.agents(inShoot) {
			for configMap, keys := range readBy(agents.Namespace, &agents.Spec.Template.Spec) {
				own, is := configMaps[configMap]
				if !is {
					continue
				}
				now, key := seenContent{contentOf(own, keys), n.name}, [3]string{name, textOf(agents.Spec.Template), configMap}
				if was, before := seen[key]; before {
					compareReads(s, found, name, configMap, was, now)
				} else {
					seen[key] = now
				}
			}
		}
	}
	checkJustifications(s, found, "WithWatched", "those pods restart whenever what they read changes")
}

func compareReads(s *suite, found *report, agents, configMap string, was, now seenContent) {
	if was.content == now.content {
		return
	}
	if exception := fmt.Sprintf("WithWatched(%q, %q)", agents, configMap); !s.isJustified(exception) && !s.unstable {
		found.where = fmt.Sprintf("%s, whose pods are those in %s, where what they read was once\n%s", now.network, was.network, difference(was.content, now.content))
		found.breach("%s reads %s and does not restart when that changes; annotate its pods with system.ChecksumAnnotation and system.Checksum, or justify that they notice by themselves: %s",
			agents, configMap, withReason(exception))
		found.where = ""
	}
}

// contentOf is what a ConfigMap has under some keys, or all of it, a line each.
func contentOf(configMap plugin.Object, keys []string) string {
	var all corev1.ConfigMap
	// What is no ConfigMap has no data. The API server refuses it.
	_ = json.Unmarshal([]byte(documentOf(configMap).raw), &all)
	isUnread := func(name string) bool { return keys != nil && !slices.Contains(keys, name) }
	maps.DeleteFunc(all.Data, func(name, _ string) bool { return isUnread(name) })
	maps.DeleteFunc(all.BinaryData, func(name string, _ []byte) bool { return isUnread(name) })
	text, _ := json.MarshalIndent(corev1.ConfigMap{Data: all.Data, BinaryData: all.BinaryData}, "", " ")
	return string(text)
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
