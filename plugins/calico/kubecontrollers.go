// SPDX-License-Identifier: Apache-2.0

package calico

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
)

const kubeControllersName = "calico-kube-controllers"

// kubeControllers are Calico's controllers, which clean up after nodes and give
// addresses to Services of type LoadBalancer.
func (n *network) kubeControllers() []plugin.Object {
	if !hasKubeControllers(n.config) {
		return nil
	}
	return append(kubeControllersAccess, n.kubeControllersDeployment())
}

var kubeControllersAccess = shared(
	serviceAccount(kubeControllersName),
	clusterRole(kubeControllersName, kubeControllersRules()...),
	clusterRoleBinding(kubeControllersName, account(kubeControllersName)),
	disruptionBudget(kubeControllersName),
)

func (n *network) kubeControllersDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   typeMeta("apps/v1", "Deployment"),
		ObjectMeta: named(kubeControllersName, systemApp(kubeControllersName)),
		Spec: appsv1.DeploymentSpec{
			Replicas:             new(int32(1)),
			RevisionHistoryLimit: new(int32(2)),
			// Two of them at a time would work against each other.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: selecting(app(kubeControllersName)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: podMeta(fromGardener(mayReachOut(systemApp(kubeControllersName)))),
				Spec: corev1.PodSpec{
					ServiceAccountName: kubeControllersName,
					PriorityClassName:  clusterPriority,
					DNSPolicy:          corev1.DNSDefault,
					Tolerations:        tolerateAll(corev1.TaintEffectNoSchedule),
					SecurityContext:    &corev1.PodSecurityContext{SeccompProfile: runtimeDefault()},
					Containers:         []corev1.Container{n.kubeControllersContainer()},
				},
			},
		},
	}
}

func (n *network) kubeControllersContainer() corev1.Container {
	var env environment
	env.set("ENABLED_CONTROLLERS", "node,loadbalancer")
	env.set("DATASTORE_TYPE", datastore)
	return corev1.Container{
		Name:      kubeControllersName,
		Image:     n.image("calico-kube-controllers"),
		Env:       env,
		Resources: corev1.ResourceRequirements{Requests: requests("10m", "50Mi")},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:        execute("/usr/bin/check-status", "-l"),
			InitialDelaySeconds: 10,
			PeriodSeconds:       10,
			TimeoutSeconds:      10,
			FailureThreshold:    6,
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:   execute("/usr/bin/check-status", "-r"),
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

func execute(command ...string) corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}
}

func kubeControllersRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(coreGroup, []string{"nodes"}, "watch", "list", "get"),
		rule(coreGroup, []string{"pods"}, "get", "list", "watch"),
		rule(coreGroup, []string{"namespaces"}, "get", "list", "watch"),
		rule(coreGroup, []string{"services", "services/status"}, "get", "list", "update", "watch"),
		rule(calicoGroup, []string{"ipreservations"}, "list"),
		rule(calicoGroup, []string{"blockaffinities", "ipamblocks", "ipamhandles", "ipamconfigs", "tiers"},
			"get", "list", "create", "update", "delete", "watch"),
		rule(calicoGroup, []string{"ippools"}, "list", "watch"),
		rule(calicoGroup, []string{"hostendpoints"}, "get", "list", "create", "update", "delete", "watch"),
		rule(calicoGroup, []string{"clusterinformations"}, "get", "list", "create", "update", "watch"),
		rule(calicoGroup, []string{"kubecontrollersconfigurations"}, "get", "list", "create", "update", "watch"),
	}
}
