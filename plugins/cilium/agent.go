// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	// agentName is the name of the DaemonSet, of its ServiceAccount and roles, and the
	// app label of its pods.
	agentName = "cilium"
	// agentContainer is the name of the container that is the agent, of its program,
	// and of the image, which also holds the tools that its helpers need.
	agentContainer = "cilium-agent"
)

// Folders in which agent and operator find their configuration.
const (
	configFolder      = "/tmp/cilium/config-map"
	labelPrefixFolder = "/tmp/cilium/label-prefix"
)

// Annotations that restart pods when a ConfigMap changes that they have read. Gardener uses
// the same names.
var (
	configChecksum      = system.ChecksumAnnotation("cilium")
	labelPrefixChecksum = system.ChecksumAnnotation("label-prefix")
)

// agent is what makes the network on every node.
type agent struct{ *network }

// objects has agents restart when the checksum of their configuration changes.
func (a agent) objects(checksum string) []plugin.Object {
	return []plugin.Object{a.daemonSet(checksum)}
}

func (a agent) daemonSet(checksum string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		TypeMeta:   system.TypeMeta("apps/v1", "DaemonSet"),
		ObjectMeta: system.Named(agentName, perNode(agentContainer, system.SystemApp(agentName))),
		Spec: appsv1.DaemonSetSpec{
			Selector:             system.Selecting(system.App(agentName)),
			RevisionHistoryLimit: new(int32(2)),
			UpdateStrategy:       system.RollOut(a.in),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: agentPodMeta(checksum),
				Spec: corev1.PodSpec{
					ServiceAccountName:            agentName,
					AutomountServiceAccountToken:  new(true),
					HostNetwork:                   true,
					PriorityClassName:             system.NodePriority,
					RestartPolicy:                 corev1.RestartPolicyAlways,
					TerminationGracePeriodSeconds: new(int64(1)),
					NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux"},
					Tolerations:                   anyTaint(),
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: sameNode(system.AppLabel, agentName),
					}},
					SecurityContext: sharedGroup(),
					InitContainers:  agentInit(a).containers(),
					Containers:      a.containers(),
					Volumes:         agentVolumes(),
				},
			},
		},
	}
}

// perNode are labels of what every node needs before it takes other pods.
func perNode(name string, labels map[string]string) map[string]string {
	labels[system.CriticalLabel] = "true"
	return named(name, labels)
}

func agentPodMeta(checksum string) metav1.ObjectMeta {
	meta := system.PodMeta(system.MayReachOut(perNode(agentContainer, system.App(agentName))))
	meta.Annotations = scraped(agentMetricsPort)
	meta.Annotations[configChecksum] = checksum
	meta.Annotations[labelPrefixChecksum] = labelPrefixSum()
	meta.Annotations["kubectl.kubernetes.io/default-container"] = agentContainer
	for _, container := range []string{agentContainer, cleanStateName, mountCgroupName, applySysctlName} {
		meta.Annotations[appArmorAnnotation+container] = unconfined
	}
	return meta
}

// appArmorAnnotation begins the annotations by which nodes with AppArmor let a
// container do what Cilium has to.
const (
	appArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/"
	unconfined         = "unconfined"
)

func (a agent) containers() []corev1.Container {
	containers := []corev1.Container{a.container()}
	if a.config.SnatToUpstreamDNS.Enabled {
		containers = append(containers, a.snatToUpstreamDNS())
	}
	if a.config.SnatOutOfCluster.Enabled {
		containers = append(containers, a.snatToOutsideWorld())
	}
	return containers
}

func (a agent) container() corev1.Container {
	// The agent answers with OK rather than with all it knows.
	brief := corev1.HTTPHeader{Name: "brief", Value: "true"}
	// An agent that has lost the API server still serves its node.
	alone := corev1.HTTPHeader{Name: "require-k8s-connectivity", Value: "false"}
	port := intstr.FromInt32(agentHealthPort)
	return corev1.Container{
		Name:            agentContainer,
		Image:           a.image(agentContainer),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"cilium-agent"},
		Args:            []string{"--config-dir=" + configFolder},
		Env:             agentEnv(),
		Ports: []corev1.ContainerPort{
			hostPort("prometheus", agentMetricsPort),
			hostPort("health", agentHealthPort),
			hostPort("hubble-metrics", hubbleMetricsPort),
			hostPort("peer-service", hubblePeerPort),
		},
		Resources:                corev1.ResourceRequirements{Requests: memory("200Mi")},
		SecurityContext:          onHost(capable(agentCapabilities...)),
		Lifecycle:                &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/cni-uninstall.sh"}}}},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		// Compiling programs and restoring pods takes minutes on a busy node.
		StartupProbe: &corev1.Probe{
			ProbeHandler: a.healthz(port, brief), InitialDelaySeconds: 5, PeriodSeconds: 2, SuccessThreshold: 1, FailureThreshold: 300,
		},
		LivenessProbe: &corev1.Probe{
			ProbeHandler: a.healthz(port, brief, alone), PeriodSeconds: 30, TimeoutSeconds: 5, SuccessThreshold: 1, FailureThreshold: 10,
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:        a.healthz(port, brief),
			InitialDelaySeconds: 5, PeriodSeconds: 30, TimeoutSeconds: 5, SuccessThreshold: 1, FailureThreshold: 3,
		},
		VolumeMounts: agentMounts(),
	}
}

// agentCapabilities are what the agent needs for its sockets and files, for routes,
// devices and rules of the node, and for loading eBPF programs.
var agentCapabilities = []corev1.Capability{
	"CHOWN", "KILL", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "SYS_MODULE", "SYS_ADMIN", "SYS_RESOURCE", "DAC_OVERRIDE",
	"FOWNER", "SETGID", "SETUID",
}

func agentEnv() system.Environment {
	env := whereabouts()
	env.Set("CILIUM_CLUSTERMESH_CONFIG", clusterMeshFolder+"/")
	// Without a limit of the container this is what the node can give.
	env = append(env, corev1.EnvVar{Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{
		ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1")},
	}})
	env.Set("KUBE_CLIENT_BACKOFF_BASE", "1")
	env.Set("KUBE_CLIENT_BACKOFF_DURATION", "120")
	return env
}

// whereabouts tell a program of Cilium which node and namespace it is in.
func whereabouts() system.Environment {
	var env system.Environment
	env.FromField("K8S_NODE_NAME", "spec.nodeName")
	env.FromField("CILIUM_K8S_NAMESPACE", "metadata.namespace")
	return env
}

// hostPort is a port of a container in its node's network.
func hostPort(name string, port int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: port, HostPort: port, Protocol: corev1.ProtocolTCP}
}
