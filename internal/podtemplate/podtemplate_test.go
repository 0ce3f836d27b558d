// SPDX-License-Identifier: Apache-2.0

package podtemplate_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/internal/podtemplate"
)

// written is a manifest as a person writes it, and stored the same as an API server stores it.
const (
	written = `
kind: DaemonSet
spec:
  template:
    metadata: {labels: {app: agent}, annotations: {checksum/configmap-agent: abc}}
    spec:
      hostNetwork: true
      serviceAccountName: agent
      initContainers:
      - {name: install, image: "example.com/agent:v1"}
      - {name: clean, image: "example.com/agent:v1"}
      containers:
      - name: agent
        image: example.com/agent:v1
        env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        ports: [{containerPort: 9091, name: metrics}]
        resources: {requests: {cpu: 1000m, memory: 1024Mi}}
        livenessProbe: {httpGet: {path: /healthz, port: 9091}}
      volumes: [{name: state, emptyDir: {}}, {name: config, configMap: {name: agent}}]
`
	stored = `
kind: DaemonSet
spec:
  template:
    metadata: {creationTimestamp: null, labels: {app: agent}, annotations: {checksum/configmap-agent: abc}}
    spec:
      hostNetwork: true
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30
      serviceAccount: agent
      serviceAccountName: agent
      initContainers:
      - {name: install, image: "example.com/agent:v1", imagePullPolicy: IfNotPresent, resources: {}, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}
      - {name: clean, image: "example.com/agent:v1", imagePullPolicy: IfNotPresent, resources: {}, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}
      containers:
      - name: agent
        image: example.com/agent:v1
        imagePullPolicy: IfNotPresent
        env: [{name: NODE, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}}]
        ports: [{containerPort: 9091, hostPort: 9091, name: metrics, protocol: TCP}]
        resources: {requests: {cpu: "1", memory: 1Gi}}
        livenessProbe: {httpGet: {path: /healthz, port: 9091, scheme: HTTP}, failureThreshold: 3, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      volumes: [{name: state, emptyDir: {}}, {name: config, configMap: {name: agent, defaultMode: 420}}]
`
)

func read(t *testing.T, document string) map[string]any {
	t.Helper()
	content := map[string]any{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(document), &content)).To(Succeed())
	return content
}

// differences are those of two documents, the second of which was changed.
func differences(t *testing.T, before, after string, change ...func(spec map[string]any)) []string {
	t.Helper()
	g := NewWithT(t)
	changed := read(t, after)
	for _, each := range change {
		each(changed["spec"].(map[string]any)["template"].(map[string]any))
	}
	then, err := podtemplate.Of(read(t, before))
	g.Expect(err).NotTo(HaveOccurred())
	now, err := podtemplate.Of(changed)
	g.Expect(err).NotTo(HaveOccurred())
	found, err := podtemplate.Differences(then, now)
	g.Expect(err).NotTo(HaveOccurred())
	return found
}

func TestWhatAPIServersFillInIsNoDifference(t *testing.T) {
	g := NewWithT(t)
	g.Expect(differences(t, written, stored)).To(BeEmpty())
	g.Expect(differences(t, stored, written)).To(BeEmpty())
}

func TestDifferencesNameTheElementsOfLists(t *testing.T) {
	g := NewWithT(t)
	pod := func(template map[string]any) map[string]any { return template["spec"].(map[string]any) }
	g.Expect(differences(t, written, stored, func(template map[string]any) {
		template["metadata"].(map[string]any)["annotations"] = map[string]any{"checksum/configmap-agent": "def"}
		pod(template)["containers"].([]any)[0].(map[string]any)["image"] = "example.com/agent:v2"
		pod(template)["securityContext"] = map[string]any{"seccompProfile": map[string]any{"type": "RuntimeDefault"}}
		pod(template)["volumes"] = pod(template)["volumes"].([]any)[1:]
	})).To(Equal([]string{
		"metadata.annotations.checksum/configmap-agent", "spec.containers[agent].image", "spec.securityContext", "spec.volumes[state]",
	}))
}

// Controllers replace pods for another order of containers, too.
func TestTheOrderOfListsIsADifference(t *testing.T) {
	NewWithT(t).Expect(differences(t, written, stored, func(template map[string]any) {
		containers := template["spec"].(map[string]any)["initContainers"].([]any)
		containers[0], containers[1] = containers[1], containers[0]
	})).To(Equal([]string{"spec.initContainers"}))
}

func TestOtherObjectsHaveNoTemplate(t *testing.T) {
	g := NewWithT(t)
	g.Expect(podtemplate.Of(map[string]any{"kind": "ConfigMap"})).To(BeNil())
	g.Expect(podtemplate.Of(map[string]any{"kind": "Deployment", "spec": map[string]any{}})).To(BeNil())
	_, err := podtemplate.Of(map[string]any{"kind": "Deployment", "spec": "none"})
	g.Expect(err).To(HaveOccurred())
}
