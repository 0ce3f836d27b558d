// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

const envoyLabels = "app.kubernetes.io/name=cilium-envoy app.kubernetes.io/part-of=cilium"

func TestTheProxyRunsBesideEveryAgent(t *testing.T) {
	g := NewWithT(t)
	envoy := build(t, "").envoy()
	g.Expect(pairs(envoy.Labels)).To(Equal(envoyLabels + " gardener.cloud/role=system-component k8s-app=cilium-envoy" + onEveryNode))
	g.Expect(pairs(envoy.Spec.Template.Labels)).To(Equal(envoyLabels + " k8s-app=cilium-envoy" + reachesAll + onEveryNode))
	g.Expect(pairs(envoy.Spec.Selector.MatchLabels)).To(Equal("k8s-app=cilium-envoy"))
	g.Expect(pairs(envoy.Spec.Template.Annotations)).To(Equal("container.apparmor.security.beta.kubernetes.io/cilium-envoy=unconfined"))
	g.Expect(envoy.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(2))
	g.Expect(*envoy.Spec.RevisionHistoryLimit).To(Equal(int32(2)))
	pod := envoy.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeTrue())
	g.Expect(pod.NodeSelector).To(Equal(map[string]string{"kubernetes.io/os": "linux"}))
	g.Expect(tolerations(pod)).To(Equal([]string{" Exists"}))
	g.Expect(pod.ServiceAccountName + " " + pod.PriorityClassName).To(Equal("cilium-envoy system-node-critical"))
	g.Expect(*pod.TerminationGracePeriodSeconds).To(Equal(int64(1)))
	g.Expect(pod.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution).To(Equal(beside("k8s-app", "cilium")))
	g.Expect(pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution).To(Equal(beside("k8s-app", "cilium-envoy")))
	g.Expect(pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms).To(Equal([]corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "cilium.io/no-schedule", Operator: "NotIn", Values: []string{"true"}}},
	}}))
	g.Expect(volumesOf(pod)).To(ConsistOf(strings.Fields(`
		envoy-sockets=/var/run/cilium/envoy/sockets:DirectoryOrCreate envoy-artifacts=/var/run/cilium/envoy/artifacts:DirectoryOrCreate
		envoy-config=ConfigMap/cilium-envoy-config(bootstrap-config.json>bootstrap-config.json):0400 bpf-maps=/sys/fs/bpf:DirectoryOrCreate`)))
}

func TestTheProxysContainer(t *testing.T) {
	for loopback, options := range map[string][]option{"127.0.0.1": nil, "::1": {ipv6Only}} {
		t.Run(loopback, func(t *testing.T) {
			g := NewWithT(t)
			container := build(t, "", options...).envoy().Spec.Template.Spec.Containers[0]
			g.Expect(container.Name).To(Equal("cilium-envoy"))
			g.Expect(container.Command).To(HaveExactElements("/usr/bin/cilium-envoy-starter"))
			g.Expect(container.Args).To(HaveExactElements("--", "-c /var/run/cilium/envoy/bootstrap-config.json", "--base-id 0", "--log-level info"))
			g.Expect(envOf(t, container)).To(Equal(map[string]string{
				"K8S_NODE_NAME": "field spec.nodeName", "CILIUM_K8S_NAMESPACE": "field metadata.namespace",
			}))
			g.Expect(portsOf(container)).To(Equal("envoy-metrics:9964/TCP@9964"))
			health := "GET " + loopback + ":9878/healthz"
			g.Expect(probe(container.StartupProbe)).To(Equal(health + ", delay 5, period 2, timeout 0, failures 105"))
			g.Expect(probe(container.LivenessProbe)).To(Equal(health + ", delay 0, period 30, timeout 5, failures 10"))
			g.Expect(probe(container.ReadinessProbe)).To(Equal(health + ", delay 0, period 30, timeout 5, failures 3"))
			g.Expect(requested(container.Resources.Requests)).To(Equal("200Mi"))
			g.Expect(access(container.SecurityContext)).To(Equal("s0/spc_t -ALL +NET_ADMIN +SYS_ADMIN"))
			g.Expect(mountsOf(container)).To(ConsistOf("envoy-sockets:/var/run/cilium/envoy/sockets", "envoy-artifacts:/var/run/cilium/envoy/artifacts:ro",
				"envoy-config:/var/run/cilium/envoy/:ro", "bpf-maps:/sys/fs/bpf:HostToContainer"))
		})
	}
}

// bootstrap is what a proxy starts with, as far as these tests look at it.
type bootstrap struct {
	Admin            struct{ Address address }
	Node             struct{ Cluster, ID string }
	DynamicResources map[string]struct {
		APIConfigSource struct {
			APIType                   string `json:"apiType"`
			TransportAPIVersion       string `json:"transportApiVersion"`
			SetNodeOnFirstMessageOnly bool
			GRPCServices              []struct {
				EnvoyGRPC struct{ ClusterName string } `json:"envoyGrpc"`
			} `json:"grpcServices"`
		} `json:"apiConfigSource"`
		InitialFetchTimeout string
	}
	StaticResources struct {
		Clusters []struct {
			Name, Type, LBPolicy, ConnectTimeout, CleanupInterval string
			TransportSocket                                       struct{ Name string }
			LoadAssignment                                        struct {
				Endpoints []struct {
					LBEndpoints []struct {
						Endpoint struct{ Address address }
					} `json:"lbEndpoints"`
				}
			}
		}
		Listeners []struct {
			Name                string
			Address             address
			AdditionalAddresses []struct{ Address address }
		}
	}
}

type address struct {
	Pipe          struct{ Path string }
	SocketAddress struct {
		Address   string
		PortValue int
	}
}

func TestTheProxyLearnsAllElseFromTheAgent(t *testing.T) {
	g := NewWithT(t)
	var got bootstrap
	decode(t, build(t, "").data("cilium-envoy-config")["bootstrap-config.json"], &got)
	const sockets = "/var/run/cilium/envoy/sockets/"
	g.Expect(got.Admin.Address.Pipe.Path).To(Equal(sockets + "admin.sock"))
	g.Expect(got.Node.Cluster + " " + got.Node.ID).To(Equal("ingress-cluster host~127.0.0.1~no-id~localdomain"))
	g.Expect(slices.Sorted(maps.Keys(got.DynamicResources))).To(Equal([]string{"cdsConfig", "ldsConfig"}))
	for name, source := range got.DynamicResources {
		g.Expect(source.APIConfigSource.APIType+" "+source.APIConfigSource.TransportAPIVersion).To(Equal("GRPC V3"), name)
		g.Expect(source.APIConfigSource.SetNodeOnFirstMessageOnly).To(BeTrue(), name)
		g.Expect(source.APIConfigSource.GRPCServices[0].EnvoyGRPC.ClusterName).To(Equal("xds-grpc-cilium"), name)
		g.Expect(source.InitialFetchTimeout).To(Equal("30s"), name)
	}
	var clusters []string
	for _, each := range got.StaticResources.Clusters {
		entry := strings.Join([]string{each.Name, each.Type, each.LBPolicy, each.ConnectTimeout, each.CleanupInterval, each.TransportSocket.Name}, " ")
		for _, endpoint := range each.LoadAssignment.Endpoints {
			entry += endpoint.LBEndpoints[0].Endpoint.Address.Pipe.Path
		}
		clusters = append(clusters, entry)
	}
	const passedOn = " ORIGINAL_DST CLUSTER_PROVIDED 2s 2.500s "
	g.Expect(clusters).To(ConsistOf(
		"ingress-cluster"+passedOn, "egress-cluster"+passedOn,
		"ingress-cluster-tls"+passedOn+"cilium.tls_wrapper", "egress-cluster-tls"+passedOn+"cilium.tls_wrapper",
		"xds-grpc-cilium STATIC  2s  "+sockets+"xds.sock", "/envoy-admin STATIC  2s  "+sockets+"admin.sock"))
}

func TestTheProxyShowsItsHealthAndMetrics(t *testing.T) {
	g := NewWithT(t)
	document := build(t, "").data("cilium-envoy-config")["bootstrap-config.json"]
	var got bootstrap
	decode(t, document, &got)
	listeners := map[string]address{}
	for _, each := range got.StaticResources.Listeners {
		listeners[each.Name] = each.Address
		for _, other := range each.AdditionalAddresses {
			listeners[each.Name+", too"] = other.Address
		}
	}
	g.Expect(listeners).To(HaveLen(3))
	at := func(name string) any { return listeners[name].SocketAddress }
	g.Expect(at("envoy-prometheus-metrics-listener")).To(Equal(struct {
		Address   string
		PortValue int
	}{"0.0.0.0", 9964}))
	g.Expect(at("envoy-health-listener")).To(HaveField("Address", "127.0.0.1"))
	g.Expect(at("envoy-health-listener, too")).To(And(HaveField("Address", "::1"), HaveField("PortValue", 9878)), "for probes of IPv6 networks")
	for _, rewriting := range []string{`"/stats/prometheus"`, `"/ready"`, `"/metrics"`, `"/healthz"`} {
		g.Expect(strings.Count(document, rewriting)).To(Equal(1), rewriting)
	}
	g.Expect(strings.Count(document, `"streamIdleTimeout": "0s"`)).To(Equal(2))
	g.Expect(strings.Count(document, `"addressPrefix"`)).To(Equal(10))
	g.Expect(document).To(ContainSubstring(`"max_active_downstream_connections": "50000"`))
	g.Expect(strings.Count(document, `"maxRetries": 128`)).To(Equal(4))
}
