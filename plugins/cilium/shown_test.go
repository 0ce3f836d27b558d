// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
)

// How parts of objects are written in the tables of these tests.

func pairs(labels map[string]string) string {
	var list []string
	for _, name := range sorted(labels) {
		list = append(list, name+"="+labels[name])
	}
	return strings.Join(list, " ")
}

func tolerations(pod corev1.PodSpec) []string {
	var list []string
	for _, each := range pod.Tolerations {
		list = append(list, fmt.Sprintf("%s%s %s", each.Key, each.Effect, each.Operator))
	}
	return list
}

func probe(p *corev1.Probe) string {
	if p == nil {
		return ""
	}
	what := ""
	switch {
	case p.HTTPGet != nil:
		what = fmt.Sprintf("GET %s:%s%s", p.HTTPGet.Host, p.HTTPGet.Port.String(), p.HTTPGet.Path)
		for _, header := range p.HTTPGet.HTTPHeaders {
			what += " " + header.Name + "=" + header.Value
		}
	case p.GRPC != nil:
		what = fmt.Sprintf("gRPC %d", p.GRPC.Port)
	}
	return fmt.Sprintf("%s, delay %d, period %d, timeout %d, failures %d", what,
		p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold)
}

// portsOf shows ports of containers, and which of them are the node's.
func portsOf(container corev1.Container) string {
	var list []string
	for _, port := range container.Ports {
		entry := fmt.Sprintf("%s:%d/%s", port.Name, port.ContainerPort, port.Protocol)
		if port.HostPort != 0 {
			entry += fmt.Sprintf("@%d", port.HostPort)
		}
		list = append(list, entry)
	}
	return strings.Join(list, " ")
}

func mountsOf(container corev1.Container) []string {
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

func volumesOf(pod corev1.PodSpec) []string {
	var list []string
	for _, volume := range pod.Volumes {
		list = append(list, volume.Name+"="+sourceOf(volume))
	}
	return list
}

func sourceOf(volume corev1.Volume) string {
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

// access shows what a container may do.
func access(context *corev1.SecurityContext) string {
	if context == nil {
		return ""
	}
	var list []string
	if context.Privileged != nil && *context.Privileged {
		list = append(list, "privileged")
	}
	if context.RunAsUser != nil {
		list = append(list, fmt.Sprintf("user %d:%d", *context.RunAsUser, *context.RunAsGroup))
	}
	if context.RunAsNonRoot != nil && *context.RunAsNonRoot {
		list = append(list, "no root")
	}
	if context.SeccompProfile != nil {
		list = append(list, string(context.SeccompProfile.Type))
	}
	if context.AllowPrivilegeEscalation != nil && !*context.AllowPrivilegeEscalation {
		list = append(list, "no escalation")
	}
	if selinux := context.SELinuxOptions; selinux != nil {
		list = append(list, selinux.Level+"/"+selinux.Type)
	}
	if context.Capabilities != nil {
		for _, capability := range context.Capabilities.Drop {
			list = append(list, "-"+string(capability))
		}
		for _, capability := range context.Capabilities.Add {
			list = append(list, "+"+string(capability))
		}
	}
	return strings.Join(list, " ")
}

func requested(list corev1.ResourceList) string {
	var parts []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, ok := list[name]; ok {
			parts = append(parts, quantity.String())
		}
	}
	return strings.Join(parts, "/")
}

// envOf shows the variables of a container, and fails if one is there twice.
func envOf(t *testing.T, container corev1.Container) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, variable := range container.Env {
		if _, twice := values[variable.Name]; twice {
			t.Fatalf("container %s has variable %s twice", container.Name, variable.Name)
		}
		values[variable.Name] = variable.Value
		from := variable.ValueFrom
		switch {
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			values[variable.Name] = "key " + from.ConfigMapKeyRef.Name + "/" + from.ConfigMapKeyRef.Key
		case from.FieldRef != nil:
			values[variable.Name] = "field " + from.FieldRef.FieldPath
		case from.ResourceFieldRef != nil:
			values[variable.Name] = "resource " + from.ResourceFieldRef.Resource + "/" + from.ResourceFieldRef.Divisor.String()
		}
	}
	return values
}

func names(containers []corev1.Container) []string {
	list := []string{}
	for _, container := range containers {
		list = append(list, container.Name)
	}
	return list
}

// pick returns the container of that name, be it an init container or not.
func pick(t *testing.T, pod corev1.PodSpec, name string) corev1.Container {
	t.Helper()
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for _, container := range containers {
			if container.Name == name {
				return container
			}
		}
	}
	t.Fatalf("there is no container %s", name)
	return corev1.Container{}
}

func (n *network) agent() *appsv1.DaemonSet {
	n.t.Helper()
	return need[*appsv1.DaemonSet](n, "cilium")
}

// container returns a container of the agent's pods.
func (n *network) container(name string) corev1.Container {
	n.t.Helper()
	return pick(n.t, n.agent().Spec.Template.Spec, name)
}

func (n *network) operator() *appsv1.Deployment {
	n.t.Helper()
	return need[*appsv1.Deployment](n, "cilium-operator")
}

func (n *network) envoy() *appsv1.DaemonSet {
	n.t.Helper()
	return need[*appsv1.DaemonSet](n, "cilium-envoy")
}

// templates are the pod templates of all workloads, by kind and name.
func (n *network) templates() map[string]corev1.PodTemplateSpec {
	all := map[string]corev1.PodTemplateSpec{}
	for _, object := range n.Objects.Shoot {
		switch workload := object.(type) {
		case *appsv1.DaemonSet:
			all[shown(object)] = workload.Spec.Template
		case *appsv1.Deployment:
			all[shown(object)] = workload.Spec.Template
		case *batchv1.Job:
			all[shown(object)] = workload.Spec.Template
		case *batchv1.CronJob:
			all[shown(object)] = workload.Spec.JobTemplate.Spec.Template
		}
	}
	return all
}

// shown is the kind and name of an object.
func shown(object plugin.Object) string {
	return object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
}

func inventory(objects []plugin.Object) []string {
	list := []string{}
	for _, object := range objects {
		list = append(list, shown(object))
	}
	return list
}
