// SPDX-License-Identifier: Apache-2.0

package calico

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const kubeControllersName = "calico-kube-controllers"

// kubeControllers are Calico's controllers, which clean up after nodes and give
// addresses to Services of type LoadBalancer.
type kubeControllers struct{ *network }

func (k kubeControllers) objects() []plugin.Object {
	if !hasKubeControllers(k.config) {
		return nil
	}
	return append(kubeControllersAccess(), k.deployment())
}

func (k kubeControllers) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   system.TypeMeta("apps/v1", "Deployment"),
		ObjectMeta: system.Named(kubeControllersName, system.SystemApp(kubeControllersName)),
		Spec: appsv1.DeploymentSpec{
			Replicas:             new(int32(1)),
			RevisionHistoryLimit: new(int32(2)),
			// Two of them at a time would work against each other.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: system.Selecting(system.App(kubeControllersName)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(system.FromGardener(system.MayReachOut(system.SystemApp(kubeControllersName)))),
				Spec: corev1.PodSpec{
					ServiceAccountName: kubeControllersName,
					PriorityClassName:  system.ClusterPriority,
					DNSPolicy:          corev1.DNSDefault,
					Tolerations:        system.TolerateAll(corev1.TaintEffectNoSchedule),
					SecurityContext:    &corev1.PodSecurityContext{SeccompProfile: system.RuntimeDefault()},
					Containers:         []corev1.Container{k.container()},
				},
			},
		},
	}
}

func (k kubeControllers) container() corev1.Container {
	var env system.Environment
	env.Set("ENABLED_CONTROLLERS", "node,loadbalancer")
	env.Set("DATASTORE_TYPE", datastore)
	return corev1.Container{
		Name:      kubeControllersName,
		Image:     k.image("calico-kube-controllers"),
		Env:       env,
		Resources: corev1.ResourceRequirements{Requests: system.Requests("10m", "50Mi")},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:        system.Execute("/usr/bin/check-status", "-l"),
			InitialDelaySeconds: 10,
			PeriodSeconds:       10,
			TimeoutSeconds:      10,
			FailureThreshold:    6,
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:   system.Execute("/usr/bin/check-status", "-r"),
			PeriodSeconds:  10,
			TimeoutSeconds: 10,
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(false),
			RunAsNonRoot:             new(true),
		},
	}
}
