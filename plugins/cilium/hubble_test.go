// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const partOfCilium = "app.kubernetes.io/part-of=cilium"

func labelsOf(app string) string {
	return "app.kubernetes.io/name=" + app + " " + partOfCilium + " k8s-app=" + app
}

func TestTheRelayCollectsFromTheAgents(t *testing.T) {
	g := NewWithT(t)
	n := build(t, hubbleEnabled)
	relay := need[*appsv1.Deployment](n, "hubble-relay")
	g.Expect(pairs(relay.Labels)).To(Equal(labelsOf("hubble-relay")))
	g.Expect(pairs(relay.Spec.Template.Labels)).To(Equal(labelsOf("hubble-relay") + reachesAll))
	g.Expect(pairs(relay.Spec.Selector.MatchLabels)).To(Equal("k8s-app=hubble-relay"))
	g.Expect(*relay.Spec.Replicas).To(Equal(int32(1)))
	g.Expect(*relay.Spec.RevisionHistoryLimit).To(Equal(int32(2)))
	pod := relay.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeFalse())
	g.Expect(pod.PriorityClassName).To(BeEmpty())
	g.Expect(pod.NodeSelector).To(Equal(map[string]string{"kubernetes.io/os": "linux"}))
	g.Expect(*pod.TerminationGracePeriodSeconds).To(Equal(int64(1)))
	g.Expect(*pod.SecurityContext).To(Equal(corev1.PodSecurityContext{
		FSGroup: new(int64(65532)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}))
	g.Expect(*pod.Affinity).To(Equal(corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: beside("k8s-app", "cilium"),
	}}))
	g.Expect(volumesOf(pod)).To(ConsistOf("config=ConfigMap/hubble-relay-config(config.yaml>config.yaml)",
		"tls=Secret/hubble-relay-client-certs(tls.crt>client.crt,tls.key>client.key,ca.crt>hubble-server-ca.crt):0400"))
	container := pod.Containers[0]
	g.Expect(strings.Join(append(container.Command, container.Args...), " ")).To(Equal("hubble-relay serve"))
	g.Expect(portsOf(container)).To(Equal("grpc:4245/TCP"))
	g.Expect(probe(container.StartupProbe)).To(Equal("gRPC 4222, delay 10, period 3, timeout 3, failures 20"))
	g.Expect(probe(container.LivenessProbe)).To(Equal("gRPC 4222, delay 10, period 10, timeout 10, failures 12"))
	g.Expect(probe(container.ReadinessProbe)).To(Equal("gRPC 4222, delay 0, period 0, timeout 3, failures 0"))
	g.Expect(requested(container.Resources.Requests) + " of " + requested(container.Resources.Limits)).To(Equal("150Mi of 1Gi"))
	g.Expect(access(container.SecurityContext)).To(Equal("user 65532:65532 no root RuntimeDefault no escalation -ALL"))
	g.Expect(mountsOf(container)).To(ConsistOf("config:/etc/hubble-relay:ro", "tls:/var/lib/hubble-relay/tls:ro"))
}

func TestTheRelaysConfiguration(t *testing.T) {
	g := NewWithT(t)
	var got map[string]any
	g.Expect(yaml.UnmarshalStrict([]byte(build(t, hubbleEnabled).data("hubble-relay-config")["config.yaml"]), &got)).To(Succeed())
	const certificates = "/var/lib/hubble-relay/tls/"
	g.Expect(got).To(Equal(map[string]any{
		"cluster-name": "default", "peer-service": "hubble-peer.kube-system.svc.cluster.local.:443",
		"listen-address": ":4245", "gops": true, "gops-port": 9893.0,
		"retry-timeout": nil, "sort-buffer-len-max": nil, "sort-buffer-drain-timeout": nil,
		"tls-hubble-client-cert-file": certificates + "client.crt",
		"tls-hubble-client-key-file":  certificates + "client.key",
		"tls-hubble-server-ca-files":  certificates + "hubble-server-ca.crt",
		"disable-server-tls":          "true",
	}))
}

func TestTheUI(t *testing.T) {
	g := NewWithT(t)
	n := build(t, hubbleEnabled)
	ui := need[*appsv1.Deployment](n, "hubble-ui")
	g.Expect(pairs(ui.Labels)).To(Equal(labelsOf("hubble-ui")))
	g.Expect(pairs(ui.Spec.Template.Labels)).To(Equal(labelsOf("hubble-ui") + reachesAll))
	g.Expect(pairs(ui.Spec.Selector.MatchLabels)).To(Equal("k8s-app=hubble-ui"))
	g.Expect(*ui.Spec.Replicas).To(Equal(int32(1)))
	g.Expect(ui.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(1))
	pod := ui.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeFalse())
	g.Expect(*pod.SecurityContext).To(Equal(corev1.PodSecurityContext{
		RunAsUser: new(int64(1001)), RunAsGroup: new(int64(1001)), FSGroup: new(int64(1001)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}))
	g.Expect(volumesOf(pod)).To(ConsistOf("hubble-ui-nginx-conf=ConfigMap/hubble-ui-nginx:0644", "tmp-dir=emptyDir"))
	for _, test := range []struct{ name, image, ports, live, ready, mounts, env string }{
		{name: "frontend", image: "quay.io/cilium/hubble-ui:v0.13.5", ports: "http:8081/TCP",
			live:   "GET :8081/healthz, delay 0, period 0, timeout 0, failures 0",
			ready:  "GET :8081/, delay 0, period 0, timeout 0, failures 0",
			mounts: "hubble-ui-nginx-conf:/etc/nginx/conf.d/default.conf<nginx.conf tmp-dir:/tmp"},
		{name: "backend", image: "quay.io/cilium/hubble-ui-backend:v0.13.5", ports: "grpc:8090/TCP",
			env: "EVENTS_SERVER_PORT=8090 FLOWS_API_ADDR=hubble-relay:80"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			container := pick(t, pod, test.name)
			g.Expect(container.Image).To(Equal(test.image))
			g.Expect(portsOf(container)).To(Equal(test.ports))
			g.Expect(probe(container.LivenessProbe)).To(Equal(test.live))
			g.Expect(probe(container.ReadinessProbe)).To(Equal(test.ready))
			g.Expect(mountsOf(container)).To(ConsistOf(strings.Fields(test.mounts)))
			g.Expect(pairs(envOf(t, container))).To(Equal(test.env))
			g.Expect(requested(container.Resources.Requests) + " of " + requested(container.Resources.Limits)).To(Equal("100m/64Mi of 1/1Gi"))
			g.Expect(access(container.SecurityContext)).To(Equal("no escalation"))
		})
	}
	server := n.data("hubble-ui-nginx")["nginx.conf"]
	for _, setting := range []string{"listen 8081;", "listen [::]:8081;", "root /app;", "proxy_http_version 1.1;", "proxy_pass http://127.0.0.1:8090;",
		"client_max_body_size 1G;", "return 200 'ok';", "/index.html;"} {
		g.Expect(server).To(ContainSubstring(setting))
	}
}

// The certificates: as the generator is told of them.
type certificate struct {
	Name, Namespace, CommonName, Validity string
	Hosts, Usage                          []string
}

func TestCertificatesAreMadeInTheCluster(t *testing.T) {
	g := NewWithT(t)
	n := build(t, hubbleEnabled)
	job := need[*batchv1.Job](n, "hubble-generate-certs")
	cron := need[*batchv1.CronJob](n, "hubble-generate-certs")
	const labels = "app.kubernetes.io/name=hubble-generate-certs " + partOfCilium + " gardener.cloud/role=system-component k8s-app=hubble-generate-certs"
	g.Expect(pairs(job.Labels)).To(Equal(labels))
	g.Expect(pairs(cron.Labels)).To(Equal(labels))
	g.Expect(pairs(job.Annotations)).To(Equal("resources.gardener.cloud/delete-on-invalid-update=true"))
	g.Expect(*job.Spec.BackoffLimit).To(Equal(int32(10)))
	g.Expect(cron.Spec.Schedule + " " + string(cron.Spec.ConcurrencyPolicy)).To(Equal("0 0 1 */4 * Forbid"))
	g.Expect([]int32{*cron.Spec.SuccessfulJobsHistoryLimit, *cron.Spec.FailedJobsHistoryLimit, *cron.Spec.JobTemplate.Spec.TTLSecondsAfterFinished}).
		To(Equal([]int32{3, 1, 1800}))
	for name, test := range map[string]struct {
		template    corev1.PodTemplateSpec
		hostNetwork bool
		reuse       []string
	}{
		"Job":     {template: job.Spec.Template},
		"CronJob": {template: cron.Spec.JobTemplate.Spec.Template, hostNetwork: true, reuse: []string{"--ca-reuse-secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(pairs(test.template.Labels)).To(Equal("k8s-app=hubble-generate-certs" + reachesAll))
			pod := test.template.Spec
			g.Expect(pod.HostNetwork).To(Equal(test.hostNetwork))
			g.Expect(pod.ServiceAccountName + " " + string(pod.RestartPolicy)).To(Equal("hubble-generate-certs OnFailure"))
			g.Expect(pod.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
			container := pod.Containers[0]
			g.Expect(container.Name + " " + container.Image).To(Equal("certgen quay.io/cilium/certgen:v0.4.9"))
			g.Expect(container.Command).To(HaveExactElements("/usr/bin/cilium-certgen"))
			g.Expect(container.Args).To(ConsistOf(append(test.reuse, "--ca-generate=true", "--ca-secret-namespace=kube-system",
				"--ca-secret-name=cilium-ca", "--ca-common-name=Cilium CA")))
			g.Expect(access(container.SecurityContext)).To(Equal("no escalation -ALL"))
			var config struct{ Certs []certificate }
			g.Expect(yaml.UnmarshalStrict([]byte(envOf(t, container)["CILIUM_CERTGEN_CONFIG"]), &config)).To(Succeed())
			g.Expect(config.Certs).To(Equal([]certificate{
				{Name: "hubble-server-certs", Namespace: "kube-system", CommonName: "*.default.hubble-grpc.cilium.io", Validity: "26280h",
					Hosts: []string{"*.default.hubble-grpc.cilium.io"}, Usage: []string{"signing", "key encipherment", "server auth", "client auth"}},
				{Name: "hubble-relay-client-certs", Namespace: "kube-system", CommonName: "*.hubble-relay.cilium.io", Validity: "26280h",
					Hosts: []string{"*.hubble-relay.cilium.io"}, Usage: []string{"signing", "key encipherment", "client auth"}},
			}))
		})
	}
}

// A Job that is recreated creates another authority: only its image may change it.
func TestNoOptionChangesTheCertificatesJob(t *testing.T) {
	want := need[*batchv1.Job](build(t, hubbleEnabled), "hubble-generate-certs")
	for _, each := range stock {
		if each.hubble {
			NewWithT(t).Expect(need[*batchv1.Job](each.build(t), "hubble-generate-certs")).To(Equal(want), each.name)
		}
	}
}
