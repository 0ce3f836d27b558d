// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// brokenWorkloads do not run where they must.
var brokenWorkloads = []broken{
	{check: "workloads", how: "no toleration", says: "does not tolerate the taint example.com/any:NoExecute", wrong: changeAgent(func(d *appsv1.DaemonSet) {
		d.Spec.Template.Spec.Tolerations = system.TolerateAll(corev1.TaintEffectNoSchedule)
	})},
	{check: "workloads", how: "not critical", says: "without which a node takes other pods before it has a network", wrong: changeAgent(func(d *appsv1.DaemonSet) {
		d.Spec.Template.Labels = system.SystemApp("agent")
	})},
	{check: "workloads", how: "no system component", says: "lacks the label gardener.cloud/role: system-component", wrong: changeAgent(func(d *appsv1.DaemonSet) {
		d.Labels = map[string]string{system.CriticalLabel: "true"}
	})},
	{check: "workloads", how: "replaced one by one", says: "is not replaced on as many nodes at a time as Input.MaxUnavailable states", wrong: changeAgent(func(d *appsv1.DaemonSet) {
		d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{}
	})},
	{check: "workloads", how: "no priority", says: "has no priority class", wrong: changeAgent(func(d *appsv1.DaemonSet) {
		d.Spec.Template.Spec.PriorityClassName = ""
	})},
	{check: "workloads", how: "kept from the API server", says: "lack the label networking.gardener.cloud/to-apiserver: allowed", wrong: changeController(func(d *appsv1.Deployment) {
		delete(d.Spec.Template.Labels, system.ToAPIServer)
	})},
	{check: "workloads", how: "waits for what waits for it", says: "does not tolerate the taint node.kubernetes.io/not-ready:NoSchedule", wrong: changeController(func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.HostNetwork = true
	})},
	{check: "workloads", how: "of no Go type", says: "has no priority class", wrong: func(f *fake[config]) {
		replace(f, func(o plugin.Object) plugin.Object {
			if _, ok := o.(*appsv1.DaemonSet); !ok {
				return o
			}
			raw, err := plugin.AppendJSON(nil, o)
			content := &unstructured.Unstructured{}
			if err != nil || content.UnmarshalJSON(raw) != nil {
				return nil
			}
			unstructured.RemoveNestedField(content.Object, "spec", "template", "spec", "priorityClassName")
			return content
		})
	}},
	{check: "workloads", how: "goes on with what it has read", says: "DaemonSet kube-system/agent reads ConfigMap kube-system/agent and does not restart when that changes",
		wrong: changeAgent(func(d *appsv1.DaemonSet) { d.Spec.Template.Annotations = nil })},
	{check: "workloads", how: "goes on with its environment", says: `plugintest.WithWatched("DaemonSet kube-system/agent", "ConfigMap kube-system/agent", reason)`, wrong: changeAgent(func(d *appsv1.DaemonSet) {
		pod := &d.Spec.Template
		pod.Annotations, pod.Spec.Volumes = nil, nil
		pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "agent"}}}}
	})},
	{check: "workloads", how: "a justification for what restarts", says: `WithWatched("DaemonSet kube-system/agent", "ConfigMap kube-system/agent") justifies nothing`,
		options: []Option{WithWatched("DaemonSet kube-system/agent", "ConfigMap kube-system/agent", "it looks every minute")}},
	{check: "workloads", how: "a justification without a reason", says: `WithWatched("DaemonSet kube-system/agent", "ConfigMap kube-system/agent") gives no reason`,
		wrong:   changeAgent(func(d *appsv1.DaemonSet) { d.Spec.Template.Annotations = nil }),
		options: []Option{WithWatched("DaemonSet kube-system/agent", "ConfigMap kube-system/agent", "")}},
	{check: "images", how: "none", says: "container agent of DaemonSet kube-system/agent has no image", wrong: changeAgent(func(d *appsv1.DaemonSet) {
		d.Spec.Template.Spec.Containers[0].Image = ""
	})},
	{check: "images", how: "no tag", says: `has the image "registry.example.com:5000/agent" without a tag`, wrong: changeAgent(func(d *appsv1.DaemonSet) {
		d.Spec.Template.Spec.Containers[0].Image = "registry.example.com:5000/agent"
	})},
	{check: "images", how: "whatever is latest", says: "may be another one tomorrow", wrong: changeAgent(func(d *appsv1.DaemonSet) {
		d.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "install", Image: "agent:latest"}}
	})},
}
