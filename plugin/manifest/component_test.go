// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugin/system"
)

const agents = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agents}
spec:
  template:
    metadata:
      annotations: {checksum/configmap-settings: "", checksum/configmap-other: ""}
    spec:
      initContainers:
      - {name: install, image: tools, volumeMounts: [{name: programs, mountPath: /host}, {name: state, mountPath: /state}]}
      - {name: clean-up, image: agent}
      containers:
      - {name: agent, image: agent, volumeMounts: [{name: state, mountPath: /state}]}
      volumes:
      - {name: programs, emptyDir: {}}
      - {name: state, emptyDir: {}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: clean}
spec:
  jobTemplate: {spec: {template: {spec: {containers: [{name: clean, image: tools}]}}}}
`

var images = plugin.ParseImages([]byte("[{name: agent, repository: example.com/agent, tag: v1}, {name: tools, repository: example.com/tools, tag: v2}]"))

func component(content string) func(*plugin.Input) []plugin.Object {
	return manifest.Component(fstest.MapFS{"agents.yaml": {Data: []byte(content)}}, "agents.yaml", images)
}

func TestWorkloadsOfAComponentAreTheNetworksOwn(t *testing.T) {
	g := NewWithT(t)
	read := component(agents)
	first, second := read(&plugin.Input{}), read(&plugin.Input{})
	g.Expect(first).To(HaveLen(3))
	g.Expect(first[0]).To(And(BeAssignableToTypeOf(&plugin.Constant{}), BeIdenticalTo(second[0])))
	manifest.Workload[*appsv1.DaemonSet](first).Spec.Template.Spec.Containers[0].Name = "changed"
	g.Expect(manifest.Workload[*appsv1.DaemonSet](second).Spec.Template.Spec.Containers[0].Name).To(Equal("agent"))
}

func TestWorkloadsOfAComponentAreForTheInput(t *testing.T) {
	g := NewWithT(t)
	in := &plugin.Input{Environment: plugin.Environment{Images: map[string]string{"agent": "mirror.example.com/agent:v3"}}}
	in.MaxUnavailable = 7
	objects := component(agents)(in)
	daemonSet := manifest.Workload[*appsv1.DaemonSet](objects)
	pod := daemonSet.Spec.Template.Spec
	g.Expect(pod.InitContainers[0].Image).To(Equal("example.com/tools:v2"))
	g.Expect(pod.Containers[0].Image).To(Equal("mirror.example.com/agent:v3"))
	g.Expect(daemonSet.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(7))
	cronJob := manifest.Workload[*batchv1.CronJob](objects)
	g.Expect(cronJob.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image).To(Equal("example.com/tools:v2"))
}

func TestWorkloadsOfAComponentKnowTheChecksumsOfItsConfigMaps(t *testing.T) {
	g := NewWithT(t)
	annotations := manifest.Workload[*appsv1.DaemonSet](component(agents)(&plugin.Input{})).Spec.Template.Annotations
	g.Expect(annotations).To(Equal(map[string]string{
		"checksum/configmap-settings": system.Checksum(&corev1.ConfigMap{Data: map[string]string{"a": "b"}}),
		"checksum/configmap-other":    "",
	}))
}

func TestMistakesInComponentsAreFound(t *testing.T) {
	g := NewWithT(t)
	g.Expect(func() { component("a: b: c")(&plugin.Input{}) }).To(PanicWith(MatchError(ContainSubstring("agents.yaml"))))
	unknown := component("{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: [{name: a, image: unknown}]}}}}")
	g.Expect(func() { unknown(&plugin.Input{}) }).To(PanicWith(ContainSubstring(`no image named "unknown"`)))
	g.Expect(func() { manifest.Workload[*appsv1.Deployment](nil) }).To(PanicWith(ContainSubstring("Deployment")))
	pod := &manifest.Workload[*appsv1.DaemonSet](component(agents)(&plugin.Input{})).Spec.Template.Spec
	g.Expect(func() { manifest.Container(pod, "agnt") }).To(PanicWith(`the pod has no container named "agnt"`))
	agent := manifest.Container(pod, "agent")
	g.Expect(agent).To(BeIdenticalTo(&pod.Containers[0]))
	g.Expect(func() { manifest.Variable(agent, "NODE") }).To(PanicWith(`the container agent has no variable named "NODE"`))
	agent.Env = []corev1.EnvVar{{Name: "A"}, {Name: "NODE"}}
	g.Expect(manifest.Variable(agent, "NODE")).To(BeIdenticalTo(&agent.Env[1]))
	g.Expect(func() { manifest.Keep(pod, map[string]bool{"agent": true, "instal": false, "stat": true}) }).To(PanicWith(
		`the pod has neither containers nor volumes named ["instal" "stat"]`))
}

func TestPartsThatANetworkDoesNotHaveAreRemoved(t *testing.T) {
	g := NewWithT(t)
	pod := &manifest.Workload[*appsv1.DaemonSet](component(agents)(&plugin.Input{})).Spec.Template.Spec
	manifest.Keep(pod, map[string]bool{"install": true, "clean-up": false, "state": false})
	g.Expect(pod.InitContainers).To(ConsistOf(HaveField("Name", "install")))
	g.Expect(pod.InitContainers[0].VolumeMounts).To(ConsistOf(HaveField("Name", "programs")))
	g.Expect(pod.Containers).To(ConsistOf(And(HaveField("Name", "agent"), HaveField("VolumeMounts", BeEmpty()))))
	g.Expect(pod.Volumes).To(ConsistOf(HaveField("Name", "programs")))
}
