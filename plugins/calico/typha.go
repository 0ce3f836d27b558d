// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	// typhaName is the name of Typha's Service, ServiceAccount and budget, and its
	// app label.
	typhaName = "calico-typha"
	// typhaDeployment differs from it, as in Gardener's extension, which had to remove a
	// Deployment calico-typha with 0 replicas.
	typhaDeployment = "calico-typha-deploy"
	typhaPort       = 5473
	typhaHealthPort = 9098
	typhaUser       = 65534
	// typhaGraceSeconds is the time in which a terminating instance disconnects its clients,
	// a few at a time.
	typhaGraceSeconds = 300
)

// typha is Typha, which watches the API server for calico-node.
type typha struct{ *network }

func (t typha) objects() []plugin.Object {
	if !t.config.Typha.Enabled {
		return nil
	}
	return append(typhaAccess(), t.deployment())
}

func (t typha) deployment() *appsv1.Deployment {
	deployment := &appsv1.Deployment{
		TypeMeta:   system.TypeMeta("apps/v1", "Deployment"),
		ObjectMeta: system.Named(typhaDeployment, system.SystemApp(typhaName)),
		Spec: appsv1.DeploymentSpec{
			// The horizontal autoscaler states the number of replicas.
			RevisionHistoryLimit: new(int32(2)),
			// Clients move once, to new instances.
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxUnavailable: new(intstr.FromInt32(1)),
					MaxSurge:       new(intstr.FromString("100%")),
				},
			},
			Selector: system.Selecting(system.App(typhaName)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(system.FromGardener(system.MayReachOut(system.SystemApp(typhaName)))),
				Spec: corev1.PodSpec{
					ServiceAccountName:            typhaName,
					HostNetwork:                   true,
					PriorityClassName:             system.ClusterPriority,
					TerminationGracePeriodSeconds: new(int64(typhaGraceSeconds)),
					Tolerations:                   system.TolerateAll(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsUser:          new(int64(typhaUser)),
						FSGroup:            new(int64(typhaUser)),
						SupplementalGroups: []int64{1},
						SeccompProfile:     system.RuntimeDefault(),
					},
					Containers: []corev1.Container{t.container()},
				},
			},
		},
	}
	deployment.Spec.Template.Annotations = map[string]string{system.SafeToEvict: "true"}
	t.letAutoscalersWrite(&deployment.ObjectMeta)
	return deployment
}

func (t typha) container() corev1.Container {
	return corev1.Container{
		Name:  typhaName,
		Image: t.image("calico-typha"),
		Env:   t.env(),
		Ports: []corev1.ContainerPort{
			{Name: typhaName, ContainerPort: typhaPort, Protocol: corev1.ProtocolTCP},
			{Name: metricsPortName, ContainerPort: typhaMetricsPort, Protocol: corev1.ProtocolTCP},
		},
		Resources: corev1.ResourceRequirements{Requests: t.requests()},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:        typhaHealth("/liveness"),
			InitialDelaySeconds: 30,
			PeriodSeconds:       30,
			TimeoutSeconds:      10,
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:   typhaHealth("/readiness"),
			PeriodSeconds:  10,
			TimeoutSeconds: 10,
		},
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot:             new(true),
			AllowPrivilegeEscalation: new(false),
		},
	}
}

// requests returns the requests that Typha starts with, in mode static those of the
// config. In mode vpa the config has the minimum only.
func (t typha) requests() corev1.ResourceList {
	if resources := t.config.AutoScaling.Resources; resources != nil && t.config.AutoScaling.Mode == v1alpha1.Static {
		return system.RequestsWith(resources.Typha, typhaCPU, typhaMemory)
	}
	return system.Requests(typhaCPU, typhaMemory)
}

func (t typha) env() system.Environment {
	var env system.Environment
	env.SetIf(usesHostLocal(t.config), "USE_POD_CIDR", "true")
	env.Set("TYPHA_PROMETHEUSMETRICSENABLED", "true")
	env.Set("TYPHA_PROMETHEUSMETRICSPORT", strconv.Itoa(typhaMetricsPort))
	env.Set("TYPHA_LOGSEVERITYSCREEN", "info")
	env.Set("TYPHA_LOGFILEPATH", "none")
	env.Set("TYPHA_LOGSEVERITYSYS", "none")
	env.Set("TYPHA_CONNECTIONREBALANCINGMODE", "kubernetes")
	env.Set("TYPHA_DATASTORETYPE", datastore)
	env.Set("TYPHA_HEALTHENABLED", "true")
	env.Set("TYPHA_SHUTDOWNTIMEOUTSECS", strconv.Itoa(typhaGraceSeconds))
	return env
}

func typhaHealth(path string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Host: "localhost", Path: path, Port: intstr.FromInt32(typhaHealthPort),
	}}
}
