// SPDX-License-Identifier: Apache-2.0

package cilium

// What agents and operator of every network are told, whatever its config says.

// fixed are all of these settings.
var fixed = merge(
	nodeSettings, observationSettings, mapSettings, serviceSettings,
	identitySettings, proxySettings, dnsSettings, packetSettings,
	gone, deprecated, // version.go
)

// nodeSettings are how agents and operator look after nodes and themselves.
var nodeSettings = settings{
	"agent-health-port":                   "9879",
	"agent-not-ready-taint-key":           "node.cilium.io/agent-not-ready",
	"annotate-k8s-node":                   "true",
	"bpf-root":                            "/sys/fs/bpf",
	"cgroup-root":                         "/run/cilium/cgroupv2",
	"cilium-endpoint-gc-interval":         "5m0s",
	"cluster-name":                        "default",
	"clustermesh-cache-ttl":               "0s",
	"clustermesh-enable-endpoint-sync":    "false",
	"clustermesh-enable-mcs-api":          "false",
	"clustermesh-mcs-api-install-crds":    "true",
	"cni-log-file":                        "/var/run/cilium/cilium-cni.log",
	"controller-group-metrics":            "write-cni-file sync-host-ips sync-lb-maps-with-k8s-services",
	"datapath-mode":                       "veth",
	"enable-drift-checker":                "true",
	"enable-dynamic-config":               "true",
	"enable-endpoint-health-checking":     "true",
	"enable-xt-socket-fallback":           "true",
	"health-check-icmp-failure-threshold": "3",
	"nodes-gc-interval":                   "5m0s",
	"procfs":                              "/host/proc",
	"remove-cilium-node-taints":           "true",
	"set-cilium-is-up-condition":          "true",
	"set-cilium-node-taints":              "true",
	"unmanaged-pod-watcher-interval":      "15s",
	"write-cni-conf-when-ready":           "/host/etc/cni/net.d/05-cilium.conflist",
}

// observationSettings are what agents and operator tell about themselves and about
// traffic.
var observationSettings = settings{
	"bpf-events-drop-enabled":           "true",
	"bpf-events-policy-verdict-enabled": "true",
	"bpf-events-trace-enabled":          "true",
	"enable-metrics":                    "true",
	"hubble-disable-tls":                "false",
	"hubble-tls-cert-file":              "/var/lib/cilium/tls/hubble/server.crt",
	"hubble-tls-client-ca-files":        "/var/lib/cilium/tls/hubble/client-ca.crt",
	"hubble-tls-key-file":               "/var/lib/cilium/tls/hubble/server.key",
	"metrics-sampling-interval":         "5m",
	"monitor-aggregation":               "medium",
	"monitor-aggregation-flags":         "all",
	"monitor-aggregation-interval":      "5s",
	"nat-map-stats-entries":             "32",
	"nat-map-stats-interval":            "30s",
	"operator-prometheus-serve-addr":    ":6942",
	"prometheus-serve-addr":             ":9090",
}

// mapSettings are the sizes of the tables in which eBPF programs look things up. Fixed
// sizes take precedence over bpf-map-dynamic-size-ratio, which gives other tables a share
// of the memory.
var mapSettings = settings{
	"bpf-ct-global-any-max":      "262144",
	"bpf-ct-global-tcp-max":      "524288",
	"bpf-distributed-lru":        "false",
	"bpf-lb-map-max":             "65536",
	"bpf-map-dynamic-size-ratio": "0.0025",
	"bpf-nat-global-max":         "524288",
	"bpf-policy-map-max":         "65536",
	"bpf-policy-stats-map-max":   "65536",
	"preallocate-bpf-maps":       "false",
}

// serviceSettings are how Services are implemented.
var serviceSettings = settings{
	"bpf-lb-external-clusterip":            "false",
	"bpf-lb-sock":                          "false",
	"default-lb-service-ipam":              "none",
	"enable-auto-protect-node-port-range":  "true",
	"enable-lb-ipam":                       "true",
	"enable-no-service-endpoints-routable": "true",
	"enable-service-topology":              "true",
	"node-port-bind-protection":            "false",
	"nodeport-addresses":                   "",
	"service-no-backend-response":          "reject",
}

// identitySettings are how pods are told apart, and what NetworkPolicies go by.
var identitySettings = settings{
	"enable-endpoint-lockdown-on-policy-overflow": "false",
	"enable-k8s-networkpolicy":                    "true",
	"enable-node-selector-labels":                 "false",
	"enable-non-default-deny-policies":            "true",
	"enable-policy":                               "default",
	"enable-well-known-identities":                "false",
	"identity-allocation-mode":                    "crd",
	"identity-management-mode":                    "agent",
	"label-prefix-file":                           "/tmp/cilium/label-prefix/label-prefix",
	"policy-cidr-match-mode":                      "nodes",
	"policy-default-local-cluster":                "true",
	"policy-deny-response":                        "none",
}

// proxySettings are about the proxy that enforces policies of the application layer.
var proxySettings = settings{
	"enable-l7-proxy":                         "true",
	"envoy-access-log-buffer-size":            "4096",
	"envoy-base-id":                           "0",
	"envoy-keep-cap-netbindservice":           "false",
	"external-envoy-proxy":                    "true",
	"http-retry-count":                        "3",
	"http-stream-idle-timeout":                "300",
	"proxy-cluster-max-connections":           "1024",
	"proxy-cluster-max-requests":              "1024",
	"proxy-connect-timeout":                   "2",
	"proxy-idle-timeout-seconds":              "60",
	"proxy-initial-fetch-timeout":             "30",
	"proxy-max-active-downstream-connections": "50000",
	"proxy-max-concurrent-retries":            "128",
	"proxy-max-connection-duration-seconds":   "0",
	"proxy-max-requests-per-connection":       "0",
	"proxy-use-original-source-address":       "true",
	"proxy-xff-num-trusted-hops-egress":       "0",
	"proxy-xff-num-trusted-hops-ingress":      "0",
}

// dnsSettings are about policies that name hosts, for which agents read answers to DNS requests.
var dnsSettings = settings{
	"dnsproxy-enable-transparent-mode":        "true",
	"dnsproxy-socket-linger-timeout":          "10",
	"tofqdns-dns-reject-response-code":        "refused",
	"tofqdns-enable-dns-compression":          "true",
	"tofqdns-endpoint-max-ip-per-hostname":    "1000",
	"tofqdns-idle-connection-grace-period":    "0s",
	"tofqdns-max-deferred-connection-deletes": "10000",
	"tofqdns-preallocate-identities":          "true",
	"tofqdns-proxy-response-max-delay":        "100ms",
}

// packetSettings are how packets are forwarded, whatever the config says.
var packetSettings = settings{
	"direct-routing-skip-unreachable":                "false",
	"egress-gateway-reconciliation-trigger-interval": "1s",
	"enable-ipv4-big-tcp":                            "false",
	"enable-ipv6-big-tcp":                            "false",
	"enable-masquerade-to-route-source":              "false",
	"enable-sctp":                                    "false",
	"enable-source-ip-verification":                  "true",
	"enable-tcx":                                     "true",
	"enable-vtep":                                    "false",
	"install-iptables-rules":                         "true",
	"install-no-conntrack-iptables-rules":            "false",
	"iptables-random-fully":                          "true",
	"packetization-layer-pmtud-mode":                 "blackhole",
	"tunnel-source-port-range":                       "0-0",
	"vtep-cidr":                                      "",
	"vtep-endpoint":                                  "",
	"vtep-mac":                                       "",
	"vtep-mask":                                      "",
}
