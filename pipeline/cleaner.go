// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// remnants are what the agents of one of two networks leave behind on a node.
type remnants struct {
	plugin.Remnants
	image string
	// routedOutside reports that the infrastructure makes the routes to the ranges of other nodes.
	routedOutside bool
	podCIDRs      []string
}

// cleanerOf returns the DaemonSet that takes away what both networks have left behind on nodes that have the
// agents of neither. Its pod is ready once all of that is gone. It comes when no pod of the agents is left on
// the node: an agent that still ends would write its files again.
func cleanerOf(networks []remnants, agents []corev1.PodAffinityTerm) *appsv1.DaemonSet {
	labels := system.SystemApp(CleanerName)
	pod := corev1.PodSpec{
		HostNetwork: true, PriorityClassName: system.NodePriority, AutomountServiceAccountToken: new(false),
		Tolerations: system.TolerateAll(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
		// It has nothing to end.
		TerminationGracePeriodSeconds: new(int64(0)),
		Affinity:                      &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: agents}},
	}
	routedOutside := slices.ContainsFunc(networks, func(r remnants) bool { return r.routedOutside })
	folders := map[string]string{} // on the node, by the names of the volumes
	for i := range networks {
		each := &networks[i]
		container := corev1.Container{
			Name: fmt.Sprintf("clean-%d", i+1), Image: each.image, Command: []string{"/bin/sh", "-ec", each.script(routedOutside && !each.routedOutside)},
			SecurityContext: system.Privileged(),
		}
		for _, file := range each.Files {
			folder := path.Dir(file)
			volume := strings.ReplaceAll(strings.Trim(strings.ReplaceAll(folder, ".", "-"), "/"), "/", "-")
			if folders[volume] == "" {
				folders[volume] = folder
				pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: folder, Type: new(corev1.HostPathDirectoryOrCreate)},
				}})
			}
			if !slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume }) {
				container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: folder})
			}
		}
		pod.InitContainers = append(pod.InitContainers, container)
	}
	pod.Containers = []corev1.Container{{
		Name: "done", Image: networks[0].image, Command: []string{"/bin/sh", "-c", "while :; do sleep 3600; done"},
	}}
	cleaner := &appsv1.DaemonSet{
		TypeMeta: system.TypeMeta("apps/v1", "DaemonSet"), ObjectMeta: system.Named(CleanerName, labels),
		Spec: appsv1.DaemonSetSpec{
			Selector: system.Selecting(system.App(CleanerName)),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
	onlyOn(&cleaner.Spec.Template.Spec, corev1.NodeSelectorRequirement{
		Key: extensionsv1alpha1.TypeLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{extensionsv1alpha1.TypeNone},
	})
	return cleaner
}

// cleanIPTables defines the function clean, which takes away chains and rules of iptables.
//
//go:embed clean-iptables.sh
var cleanIPTables string

// script returns the commands that take away what agents have left behind and, if the infrastructure makes the routes
// of the other network, the agents' routes to other nodes, which nothing would replace. What is not there is no
// error, and what is still there afterwards is one.
func (r *remnants) script(withRoutes bool) string {
	lines := []string{"command -v ip >/dev/null"}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	// Without the maps that agents have pinned to files, programs would drop packets.
	for _, program := range r.Programs {
		add(`command -v tc >/dev/null
for device in /sys/class/net/*; do
  device=${device##*/}
  for direction in ingress egress; do
    tc filter show dev "$device" "$direction" 2>/dev/null | while read -r filter; do
      case $filter in *" pref "*" %s"*) rest=${filter#* pref }; tc filter delete dev "$device" "$direction" pref "${rest%%%% *}" ;; esac
    done
  done
done`, program)
	}
	for _, mount := range r.Mounts {
		add("while umount %s 2>/dev/null; do :; done", mount)
	}
	for _, file := range r.Files {
		add("rm -rf %s", file)
	}
	for _, device := range r.Interfaces {
		add("if ip link show dev %[1]s >/dev/null 2>&1; then ip link delete dev %[1]s; fi", device)
	}
	if len(r.Chains)+len(r.Comments) > 0 {
		var chains, jumps, comments []string
		for _, chain := range r.Chains {
			chains = append(chains, chain+"*")
			jumps = append(jumps, fmt.Sprintf(`*" -j %s"*`, chain), fmt.Sprintf(`*" -g %s"*`, chain))
		}
		for _, comment := range r.Comments {
			comments = append(comments, fmt.Sprintf(`*' --comment "%s'*`, comment), fmt.Sprintf(`*' --comment %s'*`, comment))
		}
		is := func(patterns []string) string {
			if len(patterns) == 0 {
				return "false"
			}
			return "case $1 in " + strings.Join(patterns, " | ") + ") true ;; *) false ;; esac"
		}
		add("is_chain() { %s; }\nis_rule() { %s; }\n%s", is(chains), is(append(jumps, comments...)), strings.TrimSpace(cleanIPTables))
	}
	for _, set := range r.Sets {
		add("if sets=$(ipset list -n); then\n  for set in $sets; do\n    case $set in %s*) ipset destroy \"$set\" ;; esac\n  done\nfi", set)
	}
	for _, table := range r.Tables {
		add("if nft list table %[1]s >/dev/null 2>&1; then nft delete table %[1]s; fi", table)
	}
	for _, table := range r.RouteTables {
		// A table that nothing was ever in is an error of ip, and so is a rule that is not there.
		add(`for family in -4 -6; do
  while ip $family rule delete table %[1]d 2>/dev/null; do :; done
  ip $family route flush table %[1]d 2>/dev/null || :
  left=$(ip $family rule show table %[1]d 2>/dev/null; ip $family route show table %[1]d 2>/dev/null) || :
  [ -z "$left" ] || { echo "left in table %[1]d: $left" >&2; exit 1; }
done`, table)
	}
	if withRoutes {
		for _, pods := range r.podCIDRs {
			family := "-4"
			if strings.Contains(pods, ":") {
				family = "-6"
			}
			add("ip %[1]s route show root %[2]s | while read -r to rest; do\n  case $rest in \"via \"*) ip %[1]s route delete \"$to\" ;; esac\ndone", family, pods)
		}
	}
	return strings.Join(lines, "\n")
}
