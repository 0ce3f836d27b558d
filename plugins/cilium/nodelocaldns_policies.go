// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	configPolicyName = "trellis-cilium-node-local-dns-configmaps"
	cachePolicyName  = "trellis-cilium-node-local-dns-daemonsets"
)

// cachePolicies have the API server itself change the cache's objects. They need no
// webhook.
func cachePolicies(apiVersion string) []plugin.Object {
	return []plugin.Object{
		policyOf(apiVersion, configPolicyName, configPolicySpec()), policyBinding(apiVersion, configPolicyName),
		policyOf(apiVersion, cachePolicyName, cachePolicySpec()), policyBinding(apiVersion, cachePolicyName),
	}
}

// policyOf is a policy in any of the versions, which differ in nothing that is used here.
func policyOf(apiVersion, name string, spec admissionregistrationv1.MutatingAdmissionPolicySpec) plugin.Object {
	return &admissionregistrationv1.MutatingAdmissionPolicy{
		TypeMeta: system.TypeMeta(apiVersion, "MutatingAdmissionPolicy"), ObjectMeta: system.ClusterWide(name), Spec: spec,
	}
}

func policyBinding(apiVersion, name string) plugin.Object {
	return &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		TypeMeta:   system.TypeMeta(apiVersion, "MutatingAdmissionPolicyBinding"),
		ObjectMeta: system.ClusterWide(name),
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}
}

// configPolicySpec says what adaptCacheConfig does.
func configPolicySpec() admissionregistrationv1.MutatingAdmissionPolicySpec {
	spec := policySpecFor(whenWritten("", "configmaps"), cacheConfigPrefix,
		admissionregistrationv1.MatchCondition{Name: "has-corefile", Expression: fmt.Sprintf("has(object.data) && %q in object.data", corefileKey)})
	spec.Mutations = patching(fmt.Sprintf(`[JSONPatch{op: "replace", path: "/data/%s", value:
  object.data[%q].split("\n").map(line,
    line.find(r"%[3]s") != "" ? line.replace(line.find(r"%[3]s"), %[4]q) :
    line.find(r"%[5]s") != "" ? line.replace(line.find(r"%[5]s"), "health " + line.find(r"%[5]s").find(r"%[6]s")) :
    line).join("\n")}]`,
		corefileKey, corefileKey, bindExpression, bindEverywhere, healthExpression, portExpression))
	return spec
}

// cachePolicySpec says what adaptCache does.
func cachePolicySpec() admissionregistrationv1.MutatingAdmissionPolicySpec {
	spec := policySpecFor(whenWritten("apps", "daemonsets"), cachePrefix)
	spec.Variables = []admissionregistrationv1.Variable{
		{Name: "pod", Expression: "object.spec.template.spec"},
		{Name: "caches", Expression: fmt.Sprintf("variables.pod.containers.filter(c, c.name == %q)", cacheContainer)},
		{Name: "adapters", Expression: fmt.Sprintf(
			"has(variables.pod.initContainers) ? variables.pod.initContainers.filter(c, c.name == %q && has(c.args)) : []", adapterContainer)},
	}
	spec.Mutations = patching(fmt.Sprintf(`[JSONPatch{op: "add", path: "/spec/template/spec/hostNetwork", value: false}] +
variables.caches.map(c, JSONPatch{op: "add",
  path: "/spec/template/spec/containers/" + string(variables.pod.containers.indexOf(c)) + "/args",
  value: (has(c.args) ? c.args.filter(a, !(%s)) : []) + [%s]}) +
variables.caches.filter(c, has(c.livenessProbe) && has(c.livenessProbe.httpGet) && has(c.livenessProbe.httpGet.host)).map(c, JSONPatch{op: "remove",
  path: "/spec/template/spec/containers/" + string(variables.pod.containers.indexOf(c)) + "/livenessProbe/httpGet/host"}) +
variables.adapters.map(c, JSONPatch{op: "replace",
  path: "/spec/template/spec/initContainers/" + string(variables.pod.initContainers.indexOf(c)) + "/args",
  value: c.args.map(a, a.contains(%q) ? %q : a)})`,
		each(cacheOptionPrefixes, " || ", "a.startsWith(%q)"), each(cacheOptions, ", ", "%q"),
		bindOption, "-"+bindOption+bindEverywhere))
	return spec
}

// policySpecFor is a policy for the cache's objects of a kind whose names begin with
// prefix. The names of some are only made after the policy has seen them.
func policySpecFor(rule admissionregistrationv1.RuleWithOperations, prefix string, conditions ...admissionregistrationv1.MatchCondition) admissionregistrationv1.MutatingAdmissionPolicySpec {
	return admissionregistrationv1.MutatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: namespaceSelector(corev1.LabelMetadataName),
			ObjectSelector:    ofCaches(),
			ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
			MatchPolicy:       new(admissionregistrationv1.Exact),
		},
		MatchConditions: append([]admissionregistrationv1.MatchCondition{
			{Name: "of-node-local-dns", Expression: fmt.Sprintf("has(object.metadata.name) && object.metadata.name.startsWith(%q)", prefix)},
			{Name: "stays", Expression: "!has(object.metadata.deletionTimestamp)"},
		}, conditions...),
		FailurePolicy:      new(admissionregistrationv1.Fail),
		ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
	}
}

func patching(expression string) []admissionregistrationv1.Mutation {
	return []admissionregistrationv1.Mutation{{
		PatchType: admissionregistrationv1.PatchTypeJSONPatch,
		JSONPatch: &admissionregistrationv1.JSONPatch{Expression: expression},
	}}
}

// each formats the members of a list, with a separator in between.
func each(list []string, separator, format string) string {
	formatted := make([]string, len(list))
	for i, member := range list {
		formatted[i] = fmt.Sprintf(format, member)
	}
	return strings.Join(formatted, separator)
}
