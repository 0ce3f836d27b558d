// SPDX-License-Identifier: Apache-2.0

package built

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// How parts of objects are written in tables.

// Pairs shows labels and the like as name=value, by name.
func Pairs(labels map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, name+"="+labels[name])
	}
	return strings.Join(list, " ")
}

// Env shows the variables of a container, by name: key CONFIGMAP/KEY, field PATH,
// resource NAME/DIVISOR, or the value itself. It fails if one is there twice.
func Env(t *testing.T, container corev1.Container) map[string]string {
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

// Ports shows the ports of a container as name:port/protocol, and @ the node's port.
func Ports(container corev1.Container) string {
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

// Probe shows what is asked, and when; nothing for no probe.
func Probe(p *corev1.Probe) string {
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
	case p.Exec != nil:
		what = "exec " + strings.Join(p.Exec.Command, " ")
	}
	return fmt.Sprintf("%s, delay %d, period %d, timeout %d, failures %d", what,
		p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold)
}

// Requested shows cpu/memory, or the one of them that there is.
func Requested(list corev1.ResourceList) string {
	var parts []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, ok := list[name]; ok {
			parts = append(parts, quantity.String())
		}
	}
	return strings.Join(parts, "/")
}

// Access shows what a container may do.
func Access(context *corev1.SecurityContext) string {
	if context == nil {
		return ""
	}
	var list []string
	if privileged := context.Privileged; privileged != nil && *privileged {
		list = append(list, "privileged")
	} else if privileged != nil {
		list = append(list, "not privileged")
	}
	if context.RunAsUser != nil {
		user := fmt.Sprintf("user %d", *context.RunAsUser)
		if context.RunAsGroup != nil {
			user += fmt.Sprintf(":%d", *context.RunAsGroup)
		}
		list = append(list, user)
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

// Rights shows each rule as groups|resources|names of resources|verbs, with C for the
// group of the plugin's own kinds.
func Rights(rules []rbacv1.PolicyRule, group string) []string {
	var list []string
	for _, rule := range rules {
		entry := strings.Join([]string{strings.Join(rule.APIGroups, ","), strings.Join(rule.Resources, ","),
			strings.Join(rule.ResourceNames, ","), strings.Join(rule.Verbs, ",")}, "|")
		list = append(list, strings.ReplaceAll(entry, group, "C"))
	}
	return list
}
