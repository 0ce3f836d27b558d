// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

var _ plugin.Mutator = definition{}

// Mutate changes the objects of the nodes' DNS cache.
func (definition) Mutate(object *unstructured.Unstructured) (bool, error) {
	if object.GetNamespace() != namespace || object.GetLabels()[system.AppLabel] != nodeLocalDNS {
		return false, nil
	}
	var adapt func(map[string]any) error
	switch kind := object.GroupVersionKind().GroupKind(); {
	case kind == schema.GroupKind{Kind: "ConfigMap"} && strings.HasPrefix(object.GetName(), cacheConfigPrefix):
		adapt = adaptCacheConfig
	case kind == schema.GroupKind{Group: "apps", Kind: "DaemonSet"} && strings.HasPrefix(object.GetName(), cachePrefix):
		adapt = adaptCache
	default:
		return false, nil
	}
	adapted := object.DeepCopy().Object
	if err := adapt(adapted); err != nil {
		return false, err
	}
	if reflect.DeepEqual(adapted, object.Object) {
		return false, nil
	}
	object.Object = adapted
	return true, nil
}

// What is looked for in each line of a Corefile, by the policies as well.
const (
	bindExpression   = `\bbind[ \t].*`
	healthExpression = `\bhealth[ \t]+\S*:[0-9]+`
	portExpression   = `:[0-9]+$`
)

var (
	bindDirective   = regexp.MustCompile(bindExpression)
	healthDirective = regexp.MustCompile(healthExpression)
	portOfDirective = regexp.MustCompile(portExpression)
)

func adaptCacheConfig(config map[string]any) error {
	data, err := mapAt(config, "data")
	if err != nil || data == nil || data[corefileKey] == nil {
		return err
	}
	corefile, ok := data[corefileKey].(string)
	if !ok {
		return field.TypeInvalid(field.NewPath("data").Key(corefileKey), data[corefileKey], "must be a string")
	}
	lines := strings.Split(corefile, "\n")
	for i, line := range lines {
		lines[i] = adaptLine(line)
	}
	data[corefileKey] = strings.Join(lines, "\n")
	return nil
}

func adaptLine(line string) string {
	if bind := bindDirective.FindString(line); bind != "" {
		return strings.ReplaceAll(line, bind, bindEverywhere)
	}
	if health := healthDirective.FindString(line); health != "" {
		return strings.ReplaceAll(line, health, "health "+portOfDirective.FindString(health))
	}
	return line
}

func adaptCache(daemonSet map[string]any) error {
	pod, err := mapAt(daemonSet, "spec", "template", "spec")
	if err != nil {
		return err
	}
	if pod == nil {
		return field.Required(field.NewPath("spec", "template", "spec"), "a DaemonSet has pods")
	}
	if pod["hostNetwork"] == true {
		pod["hostNetwork"] = false
	}
	if err := adaptContainers(pod, "containers", cacheContainer, adaptNodeCache); err != nil {
		return err
	}
	return adaptContainers(pod, "initContainers", adapterContainer, adaptConfigAdapter)
}

// adaptContainers adapts those of one name.
func adaptContainers(pod map[string]any, list, name string, adapt func(container map[string]any) error) error {
	path := field.NewPath("spec", "template", "spec", list)
	containers, ok := pod[list].([]any)
	if !ok && pod[list] != nil {
		return field.TypeInvalid(path, pod[list], "must be a list")
	}
	for i, each := range containers {
		container, ok := each.(map[string]any)
		if !ok {
			return field.TypeInvalid(path.Index(i), each, "must be an object")
		}
		if container["name"] != name {
			continue
		}
		if err := adapt(container); err != nil {
			return fmt.Errorf("%s: %w", path.Index(i), err)
		}
	}
	return nil
}

func adaptNodeCache(container map[string]any) error {
	args, err := argsOf(container)
	if err != nil {
		return err
	}
	args = slices.DeleteFunc(args, func(arg string) bool {
		return slices.ContainsFunc(cacheOptionPrefixes, func(prefix string) bool { return strings.HasPrefix(arg, prefix) })
	})
	setArgs(container, append(args, cacheOptions...))
	probe, err := mapAt(container, "livenessProbe", "httpGet")
	delete(probe, "host")
	return err
}

func adaptConfigAdapter(container map[string]any) error {
	args, err := argsOf(container)
	if err != nil || args == nil {
		return err
	}
	for i, arg := range args {
		if strings.Contains(arg, bindOption) {
			args[i] = "-" + bindOption + bindEverywhere
		}
	}
	setArgs(container, args)
	return nil
}

func argsOf(container map[string]any) ([]string, error) {
	args, _, err := unstructured.NestedStringSlice(container, "args")
	return args, err
}

func setArgs(container map[string]any, args []string) {
	list := make([]any, len(args))
	for i, arg := range args {
		list[i] = arg
	}
	container["args"] = list
}

// mapAt is the map at a path, to be changed in place; nil if there is none.
func mapAt(object map[string]any, path ...string) (map[string]any, error) {
	for i, name := range path {
		next, ok := object[name].(map[string]any)
		if !ok && object[name] != nil {
			return nil, field.TypeInvalid(field.NewPath(path[0], path[1:i+1]...), object[name], "must be an object")
		}
		object = next
	}
	return object, nil
}
