// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
)

const (
	envoyConfigName = "cilium-envoy-config"
	envoyConfigKey  = "bootstrap-config.json"
)

// Sockets in the folder that agent and proxy share.
const (
	adminSocket = socketsFolder + "/admin.sock"
	agentSocket = socketsFolder + "/xds.sock"
)

// Names of clusters, which are what Envoy sends requests to.
const (
	agentCluster   = "xds-grpc-cilium"
	adminCluster   = "/envoy-admin"
	ingressCluster = "ingress-cluster"
	egressCluster  = "egress-cluster"
)

// message is a message of Envoy's API in JSON. Its types are in modules that are larger
// than all of this program.
type message map[string]any

// envoyConfig is what a proxy starts with: where the agent tells it of all else, to
// whom it passes on connections, and where it shows its health and metrics.
func envoyConfig() *corev1.ConfigMap {
	document, err := json.MarshalIndent(envoyBootstrap(), "", "  ")
	if err != nil {
		panic(fmt.Sprintf("Envoy's configuration cannot be encoded: %v", err))
	}
	return &corev1.ConfigMap{
		TypeMeta:   system.TypeMeta("v1", "ConfigMap"),
		ObjectMeta: system.Named(envoyConfigName, nil),
		Data:       map[string]string{envoyConfigKey: string(document) + "\n"},
	}
}

func envoyBootstrap() message {
	return message{
		"admin": message{"address": pipe(adminSocket)},
		"applicationLogConfig": message{"logFormat": message{
			// time, thread, level, logger, source, message
			"textFormat": "[%Y-%m-%d %T.%e][%t][%l][%n] [%g:%#] %v",
		}},
		"bootstrapExtensions": []message{extension("envoy.bootstrap.internal_listener",
			typed("envoy.extensions.bootstrap.internal_listener.v3.InternalListener", nil))},
		"dynamicResources": message{"cdsConfig": fromAgent(), "ldsConfig": fromAgent()},
		"node":             message{"cluster": ingressCluster, "id": "host~127.0.0.1~no-id~localdomain"},
		"overloadManager": message{"resourceMonitors": []message{extension("envoy.resource_monitors.global_downstream_max_connections",
			typed("envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig", message{
				"max_active_downstream_connections": "50000",
			}))}},
		"staticResources": message{
			"clusters": []message{
				passedOn(ingressCluster), encrypted(egressCluster), passedOn(egressCluster), encrypted(ingressCluster),
				agentStream(), onNode(adminCluster, adminSocket),
			},
			"listeners": []message{metricsListener(), healthListener()},
		},
	}
}

// fromAgent is a source of configuration: the agent, over its socket.
func fromAgent() message {
	return message{
		"apiConfigSource": message{
			"apiType":                   "GRPC",
			"grpcServices":              []message{{"envoyGrpc": message{"clusterName": agentCluster}}},
			"setNodeOnFirstMessageOnly": true,
			"transportApiVersion":       "V3",
		},
		"initialFetchTimeout": "30s",
		"resourceApiVersion":  "V3",
	}
}

// passedOn is a cluster of whatever a connection was meant for, with the protocol that
// it came with.
func passedOn(name string) message {
	return message{
		"name":            name,
		"type":            "ORIGINAL_DST",
		"lbPolicy":        "CLUSTER_PROVIDED",
		"connectTimeout":  "2s",
		"cleanupInterval": "2.500s",
		"circuitBreakers": message{"thresholds": []message{{"maxRetries": 128}}},
		"typedExtensionProtocolOptions": httpOptions(message{
			"commonHttpProtocolOptions": message{
				"idleTimeout": "60s", "maxConnectionDuration": "0s", "maxRequestsPerConnection": 0,
			},
			"useDownstreamProtocolConfig": message{},
		}),
	}
}

// encrypted is a cluster like passedOn, with TLS on the way out.
func encrypted(name string) message {
	cluster := passedOn(name + "-tls")
	cluster["transportSocket"] = extension("cilium.tls_wrapper", typed("cilium.UpstreamTlsWrapperContext", nil))
	options := cluster["typedExtensionProtocolOptions"].(message)[httpOptionsName].(message)
	options["upstreamHttpProtocolOptions"] = message{}
	return cluster
}

// agentStream is the cluster of the agent's configuration, which speaks HTTP/2 only.
func agentStream() message {
	cluster := onNode(agentCluster, agentSocket)
	cluster["typedExtensionProtocolOptions"] = httpOptions(message{
		"explicitHttpConfig": message{"http2ProtocolOptions": message{}},
	})
	return cluster
}

// onNode is a cluster behind a socket of the node.
func onNode(name, socket string) message {
	return message{
		"name":           name,
		"type":           "STATIC",
		"connectTimeout": "2s",
		"loadAssignment": message{
			"clusterName": name,
			"endpoints":   []message{{"lbEndpoints": []message{{"endpoint": message{"address": pipe(socket)}}}}},
		},
	}
}

func metricsListener() message {
	return listener("envoy-prometheus-metrics-listener", address("0.0.0.0", envoyMetricsPort),
		message{"virtualHosts": []message{route("prometheus_metrics_route", "/metrics", "/stats/prometheus")}})
}

func healthListener() message {
	// Envoy takes either spelling of the field; this is Gardener's, whose document stays as
	// it is when a network is taken over.
	health := listener("envoy-health-listener", address("127.0.0.1", envoyHealthPort),
		message{"virtual_hosts": []message{route("health", "/healthz", "/ready")}})
	health["additionalAddresses"] = []message{{"address": address("::1", envoyHealthPort)}}
	return health
}

// listener serves one part of Envoy's admin interface. The admin interface itself must
// stay hidden, since it serves far more.
func listener(name string, at, routes message) message {
	return message{
		"name":    name,
		"address": at,
		"filterChains": []message{{"filters": []message{extension("envoy.filters.network.http_connection_manager",
			typed("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", message{
				"statPrefix":        name,
				"streamIdleTimeout": "0s",
				"httpFilters": []message{extension("envoy.filters.http.router",
					typed("envoy.extensions.filters.http.router.v3.Router", nil))},
				"internalAddressConfig": message{"cidrRanges": []message{
					cidr("10.0.0.0", 8), cidr("172.16.0.0", 12), cidr("192.168.0.0", 16), cidr("127.0.0.1", 32), cidr("::1", 128),
				}},
				"routeConfig": routes,
			}))}}},
	}
}

func route(name, prefix, rewritten string) message {
	return message{
		"name":    name,
		"domains": []string{"*"},
		"routes": []message{{
			"name":  name,
			"match": message{"prefix": prefix},
			"route": message{"cluster": adminCluster, "prefixRewrite": rewritten},
		}},
	}
}

func address(host string, port int) message {
	return message{"socketAddress": message{"address": host, "portValue": port}}
}

func pipe(path string) message { return message{"pipe": message{"path": path}} }

func cidr(prefix string, length int) message {
	return message{"addressPrefix": prefix, "prefixLen": length}
}

const httpOptionsName = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

func httpOptions(content message) message {
	return message{httpOptionsName: typed(httpOptionsName, content)}
}

func extension(name string, config message) message {
	return message{"name": name, "typedConfig": config}
}

// typed is a message that says which type it is of.
func typed(name string, content message) message {
	if content == nil {
		content = message{}
	}
	content["@type"] = "type.googleapis.com/" + name
	return content
}
