// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/plugin"
)

// rendering: each case has objects in some cluster, and each declared kind of cluster gets
// those of some case.
func rendering(s *suite, found *report) {
	if len(familySets(s.plugin)) == 0 {
		found.breach("the plugin declares no IP families; say in Describe which it can serve")
	}
	served := sets.New[string]() // cases, IP families and ways to run kube-proxy
	refused := map[string]field.ErrorList{}
	for _, n := range s.networks() {
		found.where = n.name
		for _, err := range n.result.Errors {
			if err.Type == field.ErrorTypeInternal {
				found.breach("a network has a defect, though its user did nothing wrong: %s", err.Detail)
				served.Insert("case " + n.caseName) // as far as its user is concerned
			}
		}
		if !n.renders() {
			refused[n.caseName] = n.result.Errors
			continue
		}
		served.Insert("case "+n.caseName, fmt.Sprint(n.cluster.families), n.cluster.kubeProxy.name)
		checkObjects(s, found, n)
	}
	found.where = ""
	for _, c := range s.cases[1:] { // a plugin may demand a config
		if !served.Has("case " + c.Name) {
			found.breach("case %q is refused in every cluster; a Case must be possible in one of them: %v", c.Name, refused[c.Name].ToAggregate())
		}
	}
	for _, set := range familySets(s.plugin) {
		if !served.Has(fmt.Sprint(set)) {
			found.breach("no case has objects in a cluster with %v, which the plugin declares to serve; add a Case, or do not declare it in Describe", set)
		}
	}
	for _, proxy := range kubeProxies {
		switch isServed := served.Has(proxy.name); {
		case !isServed && proxy.fact.Enabled:
			found.breach("no case has objects in a cluster with %s; add a Case", proxy.name)
		case !isServed && !s.needsKubeProxy:
			found.breach("no case has objects in a cluster with %s; add a Case, or pass NeedsKubeProxy to Run", proxy.name)
		case isServed && !proxy.fact.Enabled && s.needsKubeProxy:
			found.breach("a cluster with %s gets objects, and nothing implements Services there; refuse it in ValidateEffective at spec.kubernetes.kubeProxy.enabled, or leave out NeedsKubeProxy", proxy.name)
		}
	}
	checkJustifications(s, found, "WithMissing", "nothing refers to that object in vain")
}

// checkObjects finds networks that lack objects or components, objects outside of the
// network's namespace in the seed, and names of what is not in the shoot.
func checkObjects(s *suite, found *report, n network) {
	objects, all := n.result.Objects, documentsOf(n.result.Objects)
	if len(objects.For(plugin.Shoot))+len(objects.For(plugin.Seed)) == 0 {
		found.breach("a network has neither errors nor objects")
	}
	if len(objects.Components) == 0 {
		found.breach("a network has no Components, so its health cannot be reported; list its workloads")
	}
	there := sets.New[string]()
	for _, d := range all {
		switch {
		case d.bundle.Target == plugin.Shoot:
			there.Insert(d.String())
		case d.bundle.Target == plugin.Seed && d.GetNamespace() != controlPlane:
			found.breach("%s %s for the seed is in namespace %q; put it into Facts.Namespace, the only one in the seed that is the network's",
				d.kind().Kind, d.GetName(), d.GetNamespace())
		}
	}
	for _, component := range objects.Components {
		if key := keyOf(component.Kind, component.Namespace, component.Workload); !there.Has(key) {
			found.breach("component %s is %s, which is not among the objects", component.Name, key)
		}
	}
	for _, d := range all {
		for _, name := range referencesIn(d) {
			if !there.Has(name) {
				s.breachUnless(fmt.Sprintf("WithMissing(%q)", name), found,
					"%s refers to %s, which is not among the objects; render it, mark the reference as optional, or justify it", d, name)
			}
		}
	}
}

// referencesIn are the names of what pods in the shoot need to start, and bindings to count.
func referencesIn(d document) []string {
	switch w := d.workload(); {
	case d.bundle.Target != plugin.Shoot:
		return nil
	case w != nil:
		return podReferences(w.Namespace, &w.Spec.Template.Spec)
	default:
		return bindingReferences(d)
	}
}

// podReferences are a pod's identity and the ConfigMaps that it cannot start without. It
// leaves out Secrets, since a controller in the cluster may make them.
func podReferences(namespace string, pod *corev1.PodSpec) []string {
	var all []string
	if name := pod.ServiceAccountName; name != "" && name != "default" {
		all = append(all, keyOf(rbacv1.ServiceAccountKind, namespace, name))
	}
	for _, use := range configMapsOf(pod) {
		if isFromCluster := use.Name == "kube-root-ca.crt"; !ptr.Deref(use.Optional, false) && !isFromCluster {
			all = append(all, keyOf("ConfigMap", namespace, use.Name))
		}
	}
	return all
}

// bindingReferences are the role and the identities that a binding names. Roles and
// users of Kubernetes' own are always there.
func bindingReferences(d document) []string {
	if !d.is(rbacv1.GroupName, "RoleBinding", "ClusterRoleBinding") {
		return nil
	}
	_, binding := rightsOf(d)
	var all []string
	if role := binding.RoleRef; !strings.HasPrefix(role.Name, "system:") && !slices.Contains([]string{everything, "admin", "edit", "view"}, role.Name) {
		namespace := ""
		if role.Kind == "Role" {
			namespace = d.GetNamespace()
		}
		all = append(all, keyOf(role.Kind, namespace, role.Name))
	}
	for _, subject := range binding.Subjects {
		if subject.Kind == rbacv1.ServiceAccountKind {
			all = append(all, keyOf(subject.Kind, subject.Namespace, subject.Name))
		}
	}
	return all
}
