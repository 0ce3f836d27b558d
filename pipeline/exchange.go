// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
)

// CleanerName is the name of the DaemonSet that cleans nodes up, and CleanerBundle that of its ManagedResource.
const (
	CleanerName   = "trellis-cleaner"
	CleanerBundle = "trellis-network-cleaner"
)

// Exchange is a cluster with networks of two types, which nodes leave and join one after the other.
type Exchange struct {
	// Base is the type of network that nodes without label have, Other that of those whose label names it.
	Base, Other string
	// Agents are the DaemonSets of the agents, by type.
	Agents map[string][]types.NamespacedName
	// From is the type of the network that leaves.
	From string
	// Kinds are those of objects that users write and that keep the type as it is: the network that leaves acts on
	// them and the other does not. Or, where one of the two KnowsOwnPodsOnly, either does.
	Kinds []schema.GroupVersionKind
	// KnowsOwnPodsOnly is the type of the network whose policies know only pods on nodes that have it; empty if
	// neither is one.
	KnowsOwnPodsOnly string
	// Own are the objects of the Kinds that are Trellis'.
	Own []Named
}

// Named is an object of a shoot.
type Named struct {
	schema.GroupKind
	types.NamespacedName
}

// Native returns the Request for a network that can share a cluster with one of another type: the same Request, or that
// for the network that routes natively instead, if the plugin knows one, and then true.
func (p *Pipeline) Native(request Request) (Request, bool) {
	b := p.begin(&request)
	if b.run(b.checkWritten, b.applyDefaults); len(b.Errors) > 0 {
		return request, false
	}
	var native []byte
	err := plugin.Guard(request.Spec.Type, func() error {
		exchange, _ := b.plugin.Exchange(b.config, &b.in, b.paths.config)
		if len(exchange.Obstacles) == 0 {
			return nil
		}
		written, err := b.plugin.Clone(b.written)
		if err == nil && b.plugin.RouteNatively(written) {
			native, err = b.plugin.Encode(written)
		}
		return err
	})
	if err != nil || native == nil { // building the network as it is finds the error as well
		return request, false
	}
	request.Spec.ProviderConfig, request.Written, request.Step = &runtime.RawExtension{Raw: native}, nil, nil
	return request, true
}

// PrepareExchange builds the network that a running one becomes before its type changes, so that it routes natively.
// Request is the one for that network. Where it is what runs, needed is false. The Errors are about the field with
// the type.
func (p *Pipeline) PrepareExchange(running Request) (request Request, result Result, needed bool) {
	request, needed = p.Native(running)
	result = p.Build(request)
	isDisruptive := func(c Change) bool { return c.Class != plugin.Safe && c.Class != plugin.Rolling }
	isWritten, _ := jsonequal.Values(running.Present, result.Config)
	switch i := slices.IndexFunc(result.Changes, isDisruptive); {
	case len(result.Errors) > 0:
		result.Errors = field.ErrorList{field.Forbidden(pathsOf(&running).networkType, fmt.Sprintf(
			"the network of type %s cannot route natively: %v", running.Spec.Type, result.Errors.ToAggregate()))}
	case i >= 0 && needed && result.Transition == nil && !isWritten && !running.AtOnce && !running.Facts.Hibernated:
		result.Errors = field.ErrorList{field.Forbidden(pathsOf(&running).networkType, fmt.Sprintf(
			"the network of type %s must route natively first, and running pods would not survive the change of %s: make it while that does no harm, and change the type then",
			running.Spec.Type, result.Changes[i].Path))}
	}
	return request, result, needed
}

// BuildExchange builds the networks of two types for one cluster: base for the nodes without label, and
// other for those whose label names it. The Result is that of the target, one of the two types, with
// the objects of both. A network that encapsulates packets is that one which routes natively, if the plugin knows one:
// the nodes of both reach each other then. Errors are about the target; about what runs, only where it cannot give way.
func (p *Pipeline) BuildExchange(base, other Request, target string) Result {
	base, _ = p.Native(base)
	other, _ = p.Native(other)
	requests := map[string]*Request{base.Spec.Type: &base, other.Spec.Type: &other}
	wanted := requests[target]
	left := &base
	if wanted == left {
		left = &other
	}
	to, from := p.begin(wanted), p.begin(left)
	to.in.SharesCluster, from.in.SharesCluster = true, true
	all := func(b *build) []func() error {
		return []func() error{b.checkWritten, b.applyDefaults, b.validateEffective, b.compare, b.render}
	}
	result, former := to.run(all(to)...), from.run(all(from)...)
	if len(result.Errors) > 0 {
		return result
	}
	typePath := to.paths.networkType
	if len(former.Errors) > 0 {
		result.Errors = append(result.Errors, field.Forbidden(typePath, fmt.Sprintf("the network of type %s that runs is invalid: %v; correct it before the type changes", left.Spec.Type, former.Errors.ToAggregate())))
		return result
	}
	var leftovers []remnants
	kinds, knowsOwnPodsOnly := map[*build][]schema.GroupVersionKind{}, ""
	for _, b := range []*build{from, to} {
		err := plugin.Guard(b.request.Spec.Type, func() error {
			exchange, is := b.plugin.Exchange(b.config, &b.in, b.paths.config)
			if !is {
				result.Errors = append(result.Errors, field.Forbidden(typePath, fmt.Sprintf("networks of type %s cannot take the place of one of another type, nor give way to one; create a new cluster", b.request.Spec.Type)))
				return nil
			}
			if b == from { // its paths are not those of what the user writes now
				for _, err := range exchange.Obstacles {
					result.Errors = append(result.Errors, field.Forbidden(typePath, fmt.Sprintf("the network of type %s that runs stands in the way: its %s %s",
						b.request.Spec.Type, strings.TrimPrefix(err.Field, b.paths.config.String()+"."), err.Detail)))
				}
			} else {
				result.Errors = append(result.Errors, exchange.Obstacles...)
			}
			kinds[b] = exchange.Kinds
			if exchange.KnowsOwnPodsOnly {
				knowsOwnPodsOnly = b.request.Spec.Type
			}
			path := b.plugin.DescribeDataPath(b.config)
			leftovers = append(leftovers, remnants{
				Remnants: exchange.Remnants, image: b.plugin.Images.For(exchange.Remnants.Image, &b.in), routedOutside: path.NeedsRoutes(), podCIDRs: allPodCIDRs(&b.in),
			})
			return nil
		})
		if err != nil {
			result.Errors = append(result.Errors, field.InternalError(b.paths.config, err))
		}
	}
	if !to.in.KubeProxy.Enabled {
		result.Errors = append(result.Errors, field.Forbidden(field.NewPath("spec", "kubernetes", "kubeProxy", "enabled"), "Services need kube-proxy while the type of the network changes; enable it"))
	}
	if len(result.Errors) > 0 {
		return result
	}
	exchange := &Exchange{
		Base: base.Spec.Type, Other: other.Spec.Type, From: left.Spec.Type,
		Agents: map[string][]types.NamespacedName{target: agentsOf(&result.Objects), left.Spec.Type: agentsOf(&former.Objects)},
		Kinds:  without(kinds[from], kinds[to]),
	}
	if knowsOwnPodsOnly != "" {
		exchange.KnowsOwnPodsOnly, exchange.Kinds = knowsOwnPodsOnly, append(without(kinds[from], kinds[to]), kinds[to]...)
		exchange.Own = append(namesOf(&result.Objects), namesOf(&former.Objects)...)
		probe.Unprotect(&result.Objects)
	}
	former.Objects.Bundles = slices.DeleteFunc(former.Objects.Bundles, func(b plugin.Bundle) bool { return b.Name == probe.BundleName })
	if err := disjoint(&result.Objects, &former.Objects); err != nil {
		result.Errors = append(result.Errors, field.Forbidden(typePath, fmt.Sprintf("networks of types %s and %s cannot be in one cluster: %v", base.Spec.Type, other.Spec.Type, err)))
		return result
	}
	agents := append(exchange.placeAgents(&result.Objects, target), exchange.placeAgents(&former.Objects, left.Spec.Type)...)
	cleaner := plugin.ExtrasBundle(CleanerBundle, []plugin.Object{cleanerOf(leftovers, agents)})
	result.Objects.Bundles = append(append(result.Objects.Bundles, former.Objects.Bundles...), cleaner)
	result.Objects.Components = append(result.Objects.Components, former.Objects.Components...)
	result.Exchange, result.Precondition = exchange, nil
	return result
}

// CheckExchange checks whether the nodes of a cluster that has the network of before may get that of request, one
// after the other. What is wrong with before as well is no error. The Result has the objects of both.
func (p *Pipeline) CheckExchange(before, request Request) Result {
	before.TakenOver = before.Accepted()
	result := p.BuildExchange(before, request, request.Spec.Type)
	if len(result.Errors) > 0 {
		return result
	}
	warn := func(format string, args ...any) {
		result.Warnings = append(result.Warnings, plugin.Warning{Field: pathsOf(&request).networkType.String(), Message: fmt.Sprintf(format, args...)})
	}
	runs := p.check(before)
	before.Applied = runs.Applied()
	if _, native, needed := p.PrepareExchange(before); needed {
		if len(native.Errors) > 0 {
			result.Errors = native.Errors
			return result
		}
		if native.Transition != nil {
			warn("the network of type %s first routes natively: %s", before.Spec.Type, native.Transition)
		}
	}
	warn("the nodes change from %s to %s one after the other: each is cordoned, and its pods are evicted", before.Spec.Type, request.Spec.Type)
	if _, native := p.Native(request); native {
		warn("the network of type %s routes natively until all nodes have it; then it becomes what its config says", request.Spec.Type)
	}
	return result
}

// without returns the kinds of one network that the other does not have.
func without(kinds, others []schema.GroupVersionKind) []schema.GroupVersionKind {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind schema.GroupVersionKind) bool {
		return slices.ContainsFunc(others, func(other schema.GroupVersionKind) bool { return other.GroupKind() == kind.GroupKind() })
	})
}

// namesOf returns what a network has in the shoot.
func namesOf(objects *plugin.Objects) (all []Named) {
	for _, each := range objects.For(plugin.Shoot) {
		id := identityOf(each)
		all = append(all, Named{id.kind, types.NamespacedName{Namespace: id.namespace, Name: id.name}})
	}
	return all
}

// allPodCIDRs returns the ranges of pods, each once.
func allPodCIDRs(in *plugin.Input) []string {
	all := append(slices.Clone(in.PodCIDRs), in.PodCIDR)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(each string) bool { return each == "" })
}

// agentsOf returns the DaemonSets whose pods are the agents of nodes.
func agentsOf(objects *plugin.Objects) (agents []types.NamespacedName) {
	for _, each := range objects.Components {
		if each.Kind == "DaemonSet" {
			agents = append(agents, types.NamespacedName{Namespace: each.Namespace, Name: each.Workload})
		}
	}
	return agents
}

// disjoint returns an error if two networks have an object, a bundle or a component of the same name.
func disjoint(one, other *plugin.Objects) error {
	seen := map[identity]bool{}
	for _, each := range one.For(plugin.Shoot) {
		seen[identityOf(each)] = true
	}
	for _, each := range other.For(plugin.Shoot) {
		if id := identityOf(each); seen[id] {
			return fmt.Errorf("both have the %s %s", id.kind.Kind, strings.TrimPrefix(id.namespace+"/"+id.name, "/"))
		}
	}
	for _, each := range one.Bundles {
		if slices.ContainsFunc(other.Bundles, func(b plugin.Bundle) bool { return b.Name == each.Name }) {
			return fmt.Errorf("both have a ManagedResource %s", each.Name)
		}
	}
	return nil
}

// placeAgents lets the agents of a network run only on the nodes that have it. Those that run do not start again for
// that, and what else an edit changes comes to them once all nodes have changed. It returns what selects their pods on a
// node.
func (e *Exchange) placeAgents(objects *plugin.Objects, networkType string) (selected []corev1.PodAffinityTerm) {
	requirement := corev1.NodeSelectorRequirement{Key: extensionsv1alpha1.TypeLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{e.Other}}
	if networkType == e.Base {
		requirement.Operator, requirement.Values = corev1.NodeSelectorOpNotIn, []string{e.Other, extensionsv1alpha1.TypeNone}
	}
	for i := range objects.Bundles {
		bundle := &objects.Bundles[i]
		bundle.Objects = slices.Clone(bundle.Objects)
		for j, object := range bundle.Objects {
			agents, is := object.(*appsv1.DaemonSet)
			if is && slices.Contains(e.Agents[networkType], types.NamespacedName{Namespace: agents.Namespace, Name: agents.Name}) {
				agents = agents.DeepCopy()
				onlyOn(&agents.Spec.Template.Spec, requirement)
				agents.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
				bundle.Objects[j] = agents
				selected = append(selected, corev1.PodAffinityTerm{
					LabelSelector: agents.Spec.Selector, Namespaces: []string{agents.Namespace}, TopologyKey: corev1.LabelHostname,
				})
			}
		}
	}
	return selected
}

// onlyOn adds a requirement on nodes to those that a pod has.
func onlyOn(pod *corev1.PodSpec, requirement corev1.NodeSelectorRequirement) {
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{}
	}
	if pod.Affinity.NodeAffinity == nil {
		pod.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
		pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	for i := range required.NodeSelectorTerms { // any of them is enough
		term := &required.NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions, requirement)
	}
}
