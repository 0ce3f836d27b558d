// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	typhaHorizontalName = "calico-typha-horizontal-autoscaler"
	typhaVerticalName   = "calico-typha-vertical-autoscaler"
	nodeVerticalName    = "calico-node-vertical-autoscaler"

	typhaHorizontalAccount = "typha-cpha"
	typhaVerticalAccount   = "typha-cpva"
	nodeVerticalAccount    = "calico-node-cpva"

	ladderKey        = "ladder"
	typhaVerticalKey = "typha-autoscaler"
	nodeVerticalKey  = "node-autoscaler"

	horizontalUser = 65532
	verticalUser   = 65534
)

// typhaLadder are the numbers of Typha's replicas: from so many nodes on, so many.
var typhaLadder = [][2]int{{1, 1}, {2, 2}, {100, 3}, {250, 4}, {500, 5}, {1000, 6}, {1500, 7}, {2000, 8}}

// growth lets a request grow with the number of nodes: base, and a step more for
// every nodesPerStep nodes begun, up to max.
type growth struct {
	Base         string `json:"base"`
	Step         string `json:"step"`
	NodesPerStep int    `json:"nodesPerStep"`
	Max          string `json:"max"`
}

type containerGrowth struct {
	Requests map[string]growth `json:"requests"`
}

var (
	nodeGrowth = map[string]containerGrowth{nodeName: {Requests: map[string]growth{
		"memory": {Base: "50Mi", Step: "50Mi", NodesPerStep: 10, Max: "1400Mi"},
	}}}
	typhaGrowth = map[string]containerGrowth{typhaName: {Requests: map[string]growth{
		"cpu":    {Base: "180m", Step: "140m", NodesPerStep: 17, Max: "1000m"},
		"memory": {Base: "180Mi", Step: "70Mi", NodesPerStep: 17, Max: "2000Mi"},
	}}}
)

// requestsGrow reports whether autoscalers of ours write requests.
func (n *network) requestsGrow() bool {
	return n.config.AutoScaling.Mode == v1alpha1.ClusterProportional
}

// nodeRequests are what calico-node starts with; in mode vpa also where the user
// wants it to start.
func (n *network) nodeRequests() corev1.ResourceList {
	if resources := n.config.AutoScaling.Resources; resources != nil {
		return system.RequestsWith(resources.Node, nodeCPU, nodeMemory)
	}
	return system.Requests(nodeCPU, nodeMemory)
}

// typhaRequests are what Typha starts with. In mode vpa the user only says what it
// gets at least.
func (n *network) typhaRequests() corev1.ResourceList {
	if resources := n.config.AutoScaling.Resources; resources != nil && n.config.AutoScaling.Mode == v1alpha1.Static {
		return system.RequestsWith(resources.Typha, typhaCPU, typhaMemory)
	}
	return system.Requests(typhaCPU, typhaMemory)
}

// letAutoscalersWrite keeps what they wrote from being taken back.
func (n *network) letAutoscalersWrite(meta *metav1.ObjectMeta) {
	if n.config.AutoScaling.Mode == v1alpha1.Static {
		return
	}
	meta.Annotations = map[string]string{system.PreserveResources: "true"}
}

func (n *network) autoscalers() []plugin.Object {
	var objects []plugin.Object
	if n.config.Typha.Enabled {
		objects = append(objects, n.typhaHorizontal()...)
		if n.requestsGrow() {
			objects = append(objects, n.typhaVertical()...)
		}
	}
	if n.requestsGrow() {
		objects = append(objects, n.nodeVertical()...)
	}
	return objects
}

func (n *network) typhaHorizontal() []plugin.Object {
	scaler := n.autoscaler(typhaHorizontalName, typhaHorizontalAccount, typhaHorizontalCurve)
	scaler.Annotations = map[string]string{system.DeleteOnInvalidUpdate: "true"}
	system.FromGardener(scaler.Spec.Template.Labels)
	pod := &scaler.Spec.Template.Spec
	pod.SecurityContext.RunAsUser = new(int64(horizontalUser))
	pod.SecurityContext.FSGroup = new(int64(horizontalUser))
	pod.SecurityContext.SupplementalGroups = []int64{horizontalUser}
	pod.SecurityContext.SeccompProfile = system.RuntimeDefault()
	pod.PriorityClassName = system.ShootPriority
	pod.Containers[0].Image = n.image("calico-cpa")
	pod.Containers[0].Command = []string{
		"/cluster-proportional-autoscaler",
		"--namespace=" + namespace,
		"--configmap=" + typhaHorizontalName,
		"--target=deployment/" + typhaDeployment,
		"--logtostderr=true",
		"--v=2",
	}
	return append(typhaHorizontalAccess, typhaHorizontalCurve.Constant, scaler)
}

// What the autoscalers are and may do.
var (
	typhaHorizontalAccess = plugin.Constants(
		system.ServiceAccount(typhaHorizontalAccount),
		system.ClusterRole(typhaHorizontalAccount, system.Rule(coreGroup, []string{"nodes"}, "list", "watch", "get")),
		system.ClusterRoleBinding(typhaHorizontalAccount, system.Account(typhaHorizontalAccount)),
		typhaHorizontalRole(), typhaHorizontalRoleBinding(),
	)
	typhaVerticalAccess = verticalAccess(typhaVerticalAccount, "deployments")
	nodeVerticalAccess  = verticalAccess(nodeVerticalAccount, "deployments", "daemonsets")
)

func typhaHorizontalRole() *rbacv1.Role {
	scale := system.Rule("apps", []string{"deployments/scale"}, "get", "update")
	scale.APIGroups = append(scale.APIGroups, "extensions")
	return &rbacv1.Role{
		TypeMeta:   system.TypeMeta(rbacv1.SchemeGroupVersion.String(), "Role"),
		ObjectMeta: system.Named(typhaHorizontalAccount, nil),
		Rules:      []rbacv1.PolicyRule{system.Rule(coreGroup, []string{"configmaps"}, "get"), scale},
	}
}

func typhaHorizontalRoleBinding() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   system.TypeMeta(rbacv1.SchemeGroupVersion.String(), "RoleBinding"),
		ObjectMeta: system.Named(typhaHorizontalAccount, nil),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: typhaHorizontalAccount},
		Subjects:   []rbacv1.Subject{system.Account(typhaHorizontalAccount)},
	}
}

func (n *network) typhaVertical() []plugin.Object {
	scaler := n.verticalAutoscaler(typhaVerticalName, typhaVerticalAccount, typhaVerticalCurve, "deployment/"+typhaDeployment, typhaVerticalKey)
	scaler.Annotations = map[string]string{system.DeleteOnInvalidUpdate: "true"}
	scaler.Spec.Template.Spec.PriorityClassName = system.ShootPriority
	system.FromGardener(scaler.Spec.Template.Labels)
	return append(typhaVerticalAccess, typhaVerticalCurve.Constant, scaler)
}

func (n *network) nodeVertical() []plugin.Object {
	scaler := n.verticalAutoscaler("calico-node-autoscaler", nodeVerticalAccount, nodeVerticalCurve, "daemonset/"+nodeName, nodeVerticalKey)
	scaler.Spec.Template.Spec.PriorityClassName = system.ClusterPriority
	return append(nodeVerticalAccess, nodeVerticalCurve.Constant, scaler)
}

// verticalAccess are identity and rights of a vertical autoscaler.
func verticalAccess(name string, workloads ...string) []plugin.Object {
	patch := system.Rule("apps", workloads, "patch")
	patch.APIGroups = append(patch.APIGroups, "extensions")
	return plugin.Constants(
		system.ServiceAccount(name),
		system.ClusterRole(name, system.Rule(coreGroup, []string{"nodes"}, "list"), patch),
		system.ClusterRoleBinding(name, system.Account(name)),
	)
}

func (n *network) verticalAutoscaler(appName, accountName string, by *curve, target, key string) *appsv1.Deployment {
	const mountPath = "/etc/config"
	scaler := n.autoscaler(appName, accountName, by)
	pod := &scaler.Spec.Template.Spec
	pod.SecurityContext.RunAsUser = new(int64(verticalUser))
	pod.SecurityContext.FSGroup = new(int64(1))
	pod.SecurityContext.SupplementalGroups = []int64{1}
	pod.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: by.GetName()},
	}}}}
	container := &pod.Containers[0]
	container.Image = n.image("calico-cpva")
	container.Command = []string{
		"/cpvpa",
		"--target=" + target,
		"--namespace=" + namespace,
		"--logtostderr=true",
		"--poll-period-seconds=30",
		"--v=2",
		"--config-file=" + mountPath + "/" + key,
	}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: mountPath}}
	return scaler
}

// autoscaler is what all autoscalers have in common. It is named as its curve.
func (n *network) autoscaler(appName, accountName string, by *curve) *appsv1.Deployment {
	template := system.PodMeta(system.MayReachOut(system.App(appName)))
	template.Annotations = map[string]string{system.ChecksumAnnotation(by.GetName()): by.checksum}
	return &appsv1.Deployment{
		TypeMeta:   system.TypeMeta("apps/v1", "Deployment"),
		ObjectMeta: system.Named(by.GetName(), system.App(appName)),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: system.Selecting(system.App(appName)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: template,
				Spec: corev1.PodSpec{
					ServiceAccountName: accountName,
					DNSPolicy:          corev1.DNSDefault,
					SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
					Containers: []corev1.Container{{
						Name:            "autoscaler",
						Resources:       corev1.ResourceRequirements{Requests: system.Requests("10m", "50Mi")},
						SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
					}},
				},
			},
		},
	}
}

// curve is the ConfigMap that tells an autoscaler how to follow the number of nodes.
type curve struct {
	*plugin.Constant
	checksum string
}

var (
	typhaHorizontalCurve = newCurve(typhaHorizontalName, ladderKey, map[string]any{"coresToReplicas": [][2]int{}, "nodesToReplicas": typhaLadder})
	typhaVerticalCurve   = newCurve(typhaVerticalName, typhaVerticalKey, typhaGrowth)
	nodeVerticalCurve    = newCurve(nodeVerticalName, nodeVerticalKey, nodeGrowth)
)

func newCurve(name, key string, content any) *curve {
	document, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("the configuration of %s cannot be encoded: %v", name, err))
	}
	config := &corev1.ConfigMap{
		TypeMeta:   system.TypeMeta("v1", "ConfigMap"),
		ObjectMeta: system.Named(name, nil),
		Data:       map[string]string{key: string(document)},
	}
	return &curve{Constant: plugin.NewConstant(config), checksum: system.Checksum(config)}
}
