// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	// nodeName is the name of the DaemonSet, of its ServiceAccount, and the app
	// label of its pods, by which webhooks of infrastructures find it.
	nodeName = "calico-node"
	// nodeImage holds calico-node and the tools that its helpers need.
	nodeImage = "calico-node"
	nodeUser  = 999
)

// configChecksum has the name that it has in Gardener, not the ConfigMap's.
var configChecksum = system.ChecksumAnnotation("calico")

// node is what runs on every node: DaemonSet calico-node, and its identity and rights.
type node struct{ *network }

// access are the identities and rights of what runs on every node.
func (n node) access() []plugin.Object {
	subjects := []rbacv1.Subject{system.Account(nodeName)}
	if n.config.Typha.Enabled {
		// Typha watches the API server for the nodes, with their role.
		subjects = append(subjects, system.Account(typhaName))
	}
	return slices.Concat(nodeRole(), []plugin.Object{system.ClusterRoleBinding(nodeName, subjects...)}, cniAccess())
}

func (n node) daemonSet() *appsv1.DaemonSet {
	daemonSet := &appsv1.DaemonSet{
		TypeMeta:   system.TypeMeta("apps/v1", "DaemonSet"),
		ObjectMeta: system.Named(nodeName, criticalApp(nodeName)),
		Spec: appsv1.DaemonSetSpec{
			Selector:             system.Selecting(system.App(nodeName)),
			RevisionHistoryLimit: new(int32(2)),
			UpdateStrategy:       system.RollOut(n.in),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(system.MayReachOut(criticalApp(nodeName))),
				Spec: corev1.PodSpec{
					ServiceAccountName:            nodeName,
					HostNetwork:                   true,
					PriorityClassName:             system.NodePriority,
					TerminationGracePeriodSeconds: new(int64(0)),
					NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux"},
					Tolerations:                   system.TolerateAll(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
					SecurityContext:               &corev1.PodSecurityContext{SeccompProfile: system.RuntimeDefault()},
					InitContainers:                n.initContainers(),
					Containers:                    n.containers(),
					Volumes:                       n.volumes(),
				},
			},
		},
	}
	daemonSet.Spec.Template.Annotations = map[string]string{configChecksum: system.Checksum(n.calicoConfig)}
	n.letAutoscalersWrite(&daemonSet.ObjectMeta)
	return daemonSet
}

// criticalApp are the labels of what a node needs before it takes other pods.
func criticalApp(name string) map[string]string {
	labels := system.SystemApp(name)
	labels[system.CriticalLabel] = "true"
	return labels
}

func (n node) containers() []corev1.Container {
	env := nodeEnv(n).variables()
	var containers []corev1.Container
	if n.config.SnatToUpstreamDNS.Enabled {
		containers = append(containers, n.snat())
	}
	if ensuresCondition(n.config, n.in) {
		containers = append(containers, n.conditionEnsurer(env))
	}
	containers = append(containers, n.container(env))
	if n.config.BirdExporter.Enabled && n.isPrivileged() {
		containers = append(containers, n.birdExporter())
	}
	return containers
}

func (n node) container(env system.Environment) corev1.Container {
	return corev1.Container{
		Name:    nodeName,
		Image:   n.image(nodeImage),
		EnvFrom: serviceEndpoint(),
		Env:     env,
		Ports: []corev1.ContainerPort{
			{Name: metricsPortName, ContainerPort: felixMetricsPort, Protocol: corev1.ProtocolTCP},
		},
		Resources:       corev1.ResourceRequirements{Requests: n.requests()},
		SecurityContext: n.securityContext(),
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{"/bin/calico-node", "-shutdown"}},
		}},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:        n.probe("-felix-live", "-bird-live"),
			InitialDelaySeconds: 10,
			PeriodSeconds:       10,
			TimeoutSeconds:      10,
			FailureThreshold:    6,
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:   n.probe("-felix-ready", "-bird-ready"),
			PeriodSeconds:  10,
			TimeoutSeconds: 10,
		},
		VolumeMounts: n.mounts(),
	}
}

// requests returns the requests that calico-node starts with, in modes static and vpa
// those of the config.
func (n node) requests() corev1.ResourceList {
	if resources := n.config.AutoScaling.Resources; resources != nil {
		return system.RequestsWith(resources.Node, nodeCPU, nodeMemory)
	}
	return system.Requests(nodeCPU, nodeMemory)
}

func (n node) probe(felix, bird string) corev1.ProbeHandler {
	command := []string{"/bin/calico-node", felix}
	if hasBackend(n.config, v1alpha1.Bird) {
		command = append(command, bird)
	}
	return system.Execute(command...)
}

func (n *network) isPrivileged() bool { return isPrivileged(n.config, n.in) }

func (n node) securityContext() *corev1.SecurityContext {
	if n.isPrivileged() {
		return system.Privileged()
	}
	return &corev1.SecurityContext{
		RunAsUser:                new(int64(nodeUser)),
		RunAsGroup:               new(int64(0)),
		Privileged:               new(false),
		AllowPrivilegeEscalation: new(true), // for the set-uid bits in the image, which give the user its capabilities
		Capabilities:             &corev1.Capabilities{Add: []corev1.Capability{"NET_RAW", "NET_ADMIN", "NET_BIND_SERVICE"}},
	}
}

// serviceEndpoint lets users of a cluster without kube-proxy write the API server's address
// into an optional ConfigMap.
func serviceEndpoint() []corev1.EnvFromSource {
	return []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "kubernetes-services-endpoint"},
		Optional:             new(true),
	}}}
}
