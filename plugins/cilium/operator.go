// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	// operatorName is the name of the Deployment, of its container and program, its
	// image, ServiceAccount, roles and budget.
	operatorName = "cilium-operator"
	// appLabel is Cilium's own label for what a pod does.
	appLabel    = "io.cilium/app"
	operatorApp = "operator"
	// availabilityLabel with the value controller lets Gardener run two replicas, for
	// which there must always be two nodes.
	availabilityLabel = "high-availability-config.resources.gardener.cloud/type"
)

// operator does what the cluster needs once and not on each node: it brings the
// definitions of Cilium's kinds, removes what nodes and pods have left, and takes the
// taint from nodes whose agent is ready.
type operator struct{ *network }

func (o operator) objects(checksum string) []plugin.Object {
	return append(operatorAccess(), o.deployment(checksum))
}

// operatorSelector are the labels by which the operator's pods are selected.
func operatorSelector() map[string]string {
	return map[string]string{appLabel: operatorApp, "name": operatorName}
}

func (o operator) deployment(checksum string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   system.TypeMeta("apps/v1", "Deployment"),
		ObjectMeta: system.Named(operatorName, o.labels()),
		Spec: appsv1.DeploymentSpec{
			Replicas:             new(o.replicas()),
			RevisionHistoryLimit: new(int32(2)),
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge:       new(intstr.FromInt32(1)),
					MaxUnavailable: new(intstr.FromInt32(1)),
				},
			},
			Selector: system.Selecting(operatorSelector()),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: operatorPodMeta(checksum),
				Spec: corev1.PodSpec{
					ServiceAccountName:           operatorName,
					AutomountServiceAccountToken: new(true),
					HostNetwork:                  true,
					PriorityClassName:            system.ClusterPriority,
					RestartPolicy:                corev1.RestartPolicyAlways,
					NodeSelector:                 map[string]string{corev1.LabelOSStable: "linux"},
					Tolerations:                  operatorTolerations(),
					// Two of them on one node would fight for its ports.
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: sameNode(appLabel, operatorApp),
					}},
					SecurityContext: sharedGroup(),
					Containers:      []corev1.Container{o.container()},
					Volumes:         configVolumes(),
				},
			},
		},
	}
}

// replicas leaves the second replica to Gardener, which goes by the label.
func (o operator) replicas() int32 {
	if isHighlyAvailable(o.in) && o.in.PodAccess != nil { // without Gardener, the label has no effect
		return 2
	}
	return 1
}

func (o operator) labels() map[string]string {
	labels := named(operatorName, operatorSelector())
	if isHighlyAvailable(o.in) {
		labels[availabilityLabel] = "controller"
	}
	return labels
}

func operatorPodMeta(checksum string) metav1.ObjectMeta {
	meta := system.PodMeta(system.MayReachOut(named(operatorName, operatorSelector())))
	meta.Annotations = scraped(operatorMetricsPort)
	meta.Annotations[configChecksum] = checksum
	return meta
}

// operatorTolerations let the operator run while no node is ready yet: nodes need it to
// become ready.
func operatorTolerations() []corev1.Toleration {
	var tolerations []corev1.Toleration
	for _, taint := range []string{
		"node-role.kubernetes.io/control-plane",
		"node-role.kubernetes.io/master",
		corev1.TaintNodeNotReady,
		"node.cloudprovider.kubernetes.io/uninitialized",
		"node.cilium.io/agent-not-ready",
		"node.gardener.cloud/critical-components-not-ready",
	} {
		tolerations = append(tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists})
	}
	return tolerations
}

func (o operator) container() corev1.Container {
	health := o.healthz(intstr.FromString("health"))
	return corev1.Container{
		Name:            operatorName,
		Image:           o.image(operatorName),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"cilium-operator"},
		Args:            []string{"--config-dir=" + configFolder, "--debug=$(CILIUM_DEBUG)"},
		Env:             o.env(),
		Ports: []corev1.ContainerPort{
			hostPort("prometheus", operatorMetricsPort),
			hostPort("health", operatorHealthPort),
		},
		LivenessProbe:            &corev1.Probe{ProbeHandler: health, InitialDelaySeconds: 60, PeriodSeconds: 10, TimeoutSeconds: 3},
		ReadinessProbe:           &corev1.Probe{ProbeHandler: health, PeriodSeconds: 5, TimeoutSeconds: 3, FailureThreshold: 5},
		Resources:                corev1.ResourceRequirements{Requests: memory("150Mi")},
		SecurityContext:          confined(capable()),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             configMounts(),
	}
}

func (o operator) env() system.Environment {
	env := whereabouts()
	env.FromConfigMap("CILIUM_DEBUG", configName, "debug", new(true))
	// Until agents run, and they need the operator, no Service leads anywhere.
	host, port := operatorAPIServer(o.config, o.in)
	env.SetIf(host != "", "KUBERNETES_SERVICE_HOST", host)
	env.SetIf(port != "", "KUBERNETES_SERVICE_PORT", port)
	return env
}
