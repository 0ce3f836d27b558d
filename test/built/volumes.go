// SPDX-License-Identifier: Apache-2.0

package built

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Mounts shows each mount of a container as name:path<part:ro:propagation.
func Mounts(container corev1.Container) []string {
	list := []string{}
	for _, mount := range container.VolumeMounts {
		entry := mount.Name + ":" + mount.MountPath
		if mount.SubPath != "" {
			entry += "<" + mount.SubPath
		}
		if mount.ReadOnly {
			entry += ":ro"
		}
		if mount.MountPropagation != nil {
			entry += ":" + string(*mount.MountPropagation)
		}
		list = append(list, entry)
	}
	return list
}

// Volumes shows each volume of a pod as name=source, be it a folder of the node, a
// ConfigMap, Secrets, or empty.
func Volumes(pod corev1.PodSpec) []string {
	var list []string
	for _, volume := range pod.Volumes {
		list = append(list, volume.Name+"="+source(volume))
	}
	return list
}

func source(volume corev1.Volume) string {
	switch {
	case volume.HostPath != nil:
		if kind := volume.HostPath.Type; kind != nil {
			return volume.HostPath.Path + ":" + string(*kind)
		}
		return volume.HostPath.Path
	case volume.EmptyDir != nil:
		return "emptyDir"
	case volume.ConfigMap != nil:
		return "ConfigMap/" + volume.ConfigMap.Name + itemsOf(volume.ConfigMap.Items) + modeOf(volume.ConfigMap.DefaultMode)
	case volume.Projected != nil:
		var parts []string
		for _, source := range volume.Projected.Sources {
			optional := ""
			if source.Secret.Optional != nil && *source.Secret.Optional {
				optional = "?"
			}
			parts = append(parts, "Secret/"+source.Secret.Name+optional+itemsOf(source.Secret.Items))
		}
		return strings.Join(parts, "+") + modeOf(volume.Projected.DefaultMode)
	}
	return "unknown"
}

func itemsOf(items []corev1.KeyToPath) string {
	if len(items) == 0 {
		return ""
	}
	var list []string
	for _, item := range items {
		list = append(list, item.Key+">"+item.Path)
	}
	return "(" + strings.Join(list, ",") + ")"
}

func modeOf(mode *int32) string {
	if mode == nil {
		return ""
	}
	return fmt.Sprintf(":%#o", *mode)
}
