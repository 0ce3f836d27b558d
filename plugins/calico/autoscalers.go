// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	typhaHorizontalName = "calico-typha-horizontal-autoscaler"
	horizontalUser      = 65532
	verticalUser        = 65534
)

// The objects of each autoscaler that are the same in every network, and the checksum of the
// ConfigMap among them, by which it follows the number of nodes.
var (
	typhaHorizontalObjects = autoscalerObjects("manifests/typha-horizontal-autoscaler.yaml")
	typhaVerticalObjects   = autoscalerObjects("manifests/typha-vertical-autoscaler.yaml")
	nodeVerticalObjects    = autoscalerObjects("manifests/node-vertical-autoscaler.yaml")
)

// autoscalerObjects reads a file whose last object is the ConfigMap.
func autoscalerObjects(file string) func() ([]plugin.Object, string) {
	return sync.OnceValues(func() ([]plugin.Object, string) {
		objects := manifest.Constants(manifests, file)()
		config := objects[len(objects)-1].DeepCopyObject().(*corev1.ConfigMap)
		return objects, system.Checksum(config)
	})
}

// autoscalers are the cluster-proportional autoscalers of Typha and calico-node.
type autoscalers struct{ *network }

// requestsGrow reports whether cluster-proportional autoscalers write the requests.
func (a autoscalers) requestsGrow() bool {
	return a.config.AutoScaling.Mode == v1alpha1.ClusterProportional
}

// letAutoscalersWrite makes the resource manager keep the requests that autoscalers wrote.
func (n *network) letAutoscalersWrite(meta *metav1.ObjectMeta) {
	if n.config.AutoScaling.Mode == v1alpha1.Static {
		return
	}
	meta.Annotations = map[string]string{system.PreserveResources: "true"}
}

func (a autoscalers) objects() []plugin.Object {
	var objects []plugin.Object
	if a.config.Typha.Enabled {
		objects = append(objects, a.typhaHorizontal()...)
		if a.requestsGrow() {
			objects = append(objects, a.typhaVertical()...)
		}
	}
	if a.requestsGrow() {
		objects = append(objects, a.nodeVertical()...)
	}
	return objects
}

func (a autoscalers) typhaHorizontal() []plugin.Object {
	objects, checksum := typhaHorizontalObjects()
	scaler := a.autoscaler(typhaHorizontalName, typhaHorizontalName, "typha-cpha", checksum)
	scalesTypha(scaler)
	pod := &scaler.Spec.Template.Spec
	pod.SecurityContext.RunAsUser = new(int64(horizontalUser))
	pod.SecurityContext.FSGroup = new(int64(horizontalUser))
	pod.SecurityContext.SupplementalGroups = []int64{horizontalUser}
	pod.SecurityContext.SeccompProfile = system.RuntimeDefault()
	pod.Containers[0].Image = a.image("calico-cpa")
	pod.Containers[0].Command = []string{
		"/cluster-proportional-autoscaler",
		"--namespace=" + namespace,
		"--configmap=" + typhaHorizontalName,
		"--target=deployment/" + typhaDeployment,
		"--logtostderr=true",
		"--v=2",
	}
	return append(objects, scaler)
}

func (a autoscalers) typhaVertical() []plugin.Object {
	const name = "calico-typha-vertical-autoscaler"
	objects, checksum := typhaVerticalObjects()
	scaler := a.autoscaler(name, name, "typha-cpva", checksum)
	scalesTypha(scaler)
	a.scalesRequests(scaler, "deployment/"+typhaDeployment, "typha-autoscaler")
	return append(objects, scaler)
}

func (a autoscalers) nodeVertical() []plugin.Object {
	objects, checksum := nodeVerticalObjects()
	scaler := a.autoscaler("calico-node-vertical-autoscaler", "calico-node-autoscaler", "calico-node-cpva", checksum)
	scaler.Spec.Template.Spec.PriorityClassName = system.ClusterPriority
	a.scalesRequests(scaler, "daemonset/"+nodeName, "node-autoscaler")
	return append(objects, scaler)
}

// scalesTypha sets what the autoscalers of Typha have in common.
func scalesTypha(scaler *appsv1.Deployment) {
	scaler.Annotations = map[string]string{system.DeleteOnInvalidUpdate: "true"}
	system.FromGardener(scaler.Spec.Template.Labels)
	scaler.Spec.Template.Spec.PriorityClassName = system.ShootPriority
}

// scalesRequests makes an autoscaler one of requests, which reads a key of its ConfigMap.
func (a autoscalers) scalesRequests(scaler *appsv1.Deployment, target, key string) {
	const mountPath = "/etc/config"
	pod := &scaler.Spec.Template.Spec
	pod.SecurityContext.RunAsUser = new(int64(verticalUser))
	pod.SecurityContext.FSGroup = new(int64(1))
	pod.SecurityContext.SupplementalGroups = []int64{1}
	pod.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: scaler.Name},
	}}}}
	container := &pod.Containers[0]
	container.Image = a.image("calico-cpva")
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
}

// autoscaler has what all autoscalers have in common. Its ConfigMap has the same name.
func (a autoscalers) autoscaler(name, app, account, checksum string) *appsv1.Deployment {
	template := system.PodMeta(system.MayReachOut(system.App(app)))
	template.Annotations = map[string]string{system.ChecksumAnnotation(name): checksum}
	return &appsv1.Deployment{
		TypeMeta:   system.TypeMeta("apps/v1", "Deployment"),
		ObjectMeta: system.Named(name, system.App(app)),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: system.Selecting(system.App(app)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: template,
				Spec: corev1.PodSpec{
					ServiceAccountName: account,
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
