// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/internal/controlplane"
)

// seeds is the kube-controller-manager of the extensibility overview, whose second example
// shows its flags and those that are added.
const seeds = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kube-controller-manager, namespace: shoot--core--aws-01}
spec:
  template:
    spec:
      containers:
      - name: kube-controller-manager
        command:
        - /usr/local/bin/kube-controller-manager
        - --allocate-node-cidrs=true
        - --attach-detach-reconcile-sync-period=1m0s
        - --controllers=*,bootstrapsigner,tokencleaner
        - --cluster-cidr=100.96.0.0/11
        - --cluster-name=shoot--core--aws-01
        - --cluster-signing-cert-file=/srv/kubernetes/ca/ca.crt
        - --cluster-signing-key-file=/srv/kubernetes/ca/ca.key
        - --concurrent-deployment-syncs=10
        - --concurrent-replicaset-syncs=10
        volumeMounts:
        - {name: ca, mountPath: /srv/kubernetes/ca}
      volumes:
      - {name: ca, secret: {secretName: ca}}
`

var aws = controlplane.Cloud{VolumePlugin: "aws", Config: "[Global]\nZone=\"eu-west-1a\"\n"}

func deployment(t *testing.T, document string) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(document), d)).To(Succeed())
	return d
}

func TestTheSeedsKubeControllerManager(t *testing.T) {
	g := NewWithT(t)
	wanted := deployment(t, seeds)
	pods := &wanted.Spec.Template
	container := &pods.Spec.Containers[0]
	container.Command = append(container.Command,
		"--cloud-provider=external",
		"--external-cloud-volume-plugin=aws",
		"--cloud-config=/etc/kubernetes/cloudprovider/cloudprovider.conf")
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "cloud-provider-config", MountPath: "/etc/kubernetes/cloudprovider"})
	pods.Spec.Volumes = append(pods.Spec.Volumes, corev1.Volume{Name: "cloud-provider-config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cloud-provider-config"}, DefaultMode: new(int32(0o644))},
	}})
	pods.Annotations = map[string]string{"checksum/configmap-cloud-provider-config": "2e9224ea9ca48a48ff4ec794d23eb3e1a83cc7d37c9471511bb488a90bb03708"}

	got := deployment(t, seeds)
	g.Expect(aws.Adapt(&got.Spec.Template)).To(BeTrue())
	g.Expect(got).To(Equal(wanted))
	g.Expect(aws.Adapt(&got.Spec.Template)).To(BeTrue())
	g.Expect(got).To(Equal(wanted), "applied again")
}

func TestAnotherCloudConfigReplacesThePods(t *testing.T) {
	g := NewWithT(t)
	got := deployment(t, seeds)
	aws.Adapt(&got.Spec.Template)
	before := got.DeepCopy()
	controlplane.Cloud{VolumePlugin: "aws", Config: "[Global]\n"}.Adapt(&got.Spec.Template)
	g.Expect(got.Spec.Template.Annotations).NotTo(Equal(before.Spec.Template.Annotations))
	got.Spec.Template.Annotations = before.Spec.Template.Annotations
	g.Expect(got).To(Equal(before), "nothing else changes")
}

// Today's infrastructures need only the first flag.
func TestWhatAnInfrastructureDoesNotNeedIsRemoved(t *testing.T) {
	g := NewWithT(t)
	got, wanted := deployment(t, seeds), deployment(t, seeds)
	wanted.Spec.Template.Spec.Containers[0].Command = append(wanted.Spec.Template.Spec.Containers[0].Command, "--cloud-provider=external")
	wanted.Spec.Template.Annotations = map[string]string{}
	aws.Adapt(&got.Spec.Template)
	controlplane.Cloud{}.Adapt(&got.Spec.Template)
	g.Expect(got).To(Equal(wanted))

	aws.Adapt(&got.Spec.Template)
	got.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "reads-it", VolumeMounts: []corev1.VolumeMount{{Name: "cloud-provider-config", MountPath: "/config"}}}}
	controlplane.Cloud{}.Adapt(&got.Spec.Template)
	g.Expect(got.Spec.Template.Spec.Volumes).To(HaveLen(2), "another container mounts it")
}

func TestAnotherVolumeAtThePlaceOfTheCloudConfigIsReplaced(t *testing.T) {
	g := NewWithT(t)
	got := deployment(t, seeds)
	pods := &got.Spec.Template.Spec
	pods.Volumes = append([]corev1.Volume{{Name: "cloud-provider-config"}}, pods.Volumes...)
	pods.Containers[0].VolumeMounts = []corev1.VolumeMount{
		{Name: "cloud-provider-config", MountPath: "/elsewhere"}, {Name: "ca", MountPath: "/srv/kubernetes/ca"}, {Name: "other", MountPath: "/etc/kubernetes/cloudprovider/"},
	}
	aws.Adapt(&got.Spec.Template)
	g.Expect(pods.Volumes).To(HaveLen(2))
	g.Expect(pods.Volumes[0].ConfigMap).NotTo(BeNil())
	g.Expect(pods.Containers[0].VolumeMounts).To(Equal([]corev1.VolumeMount{
		{Name: "cloud-provider-config", MountPath: "/etc/kubernetes/cloudprovider"}, {Name: "ca", MountPath: "/srv/kubernetes/ca"},
	}))
}

func TestPodsOfAnotherProgramStay(t *testing.T) {
	g := NewWithT(t)
	got := deployment(t, seeds)
	got.Spec.Template.Spec.Containers[0].Name = "another"
	before := got.DeepCopy()
	g.Expect(aws.Adapt(&got.Spec.Template)).To(BeFalse())
	g.Expect(got).To(Equal(before))
}

// FuzzAdapt adapts pods of any content twice.
func FuzzAdapt(f *testing.F) {
	f.Add([]byte(`{"spec":{"containers":[{"name":"kube-controller-manager","args":["--cloud-config","/x"]}],"volumes":[{"name":"cloud-provider-config"}]}}`), "aws", "x")
	f.Add([]byte(`{"metadata":{"annotations":{"a":"b"}},"spec":{"containers":[{"name":"kube-controller-manager","volumeMounts":[{"mountPath":"/etc/kubernetes/cloudprovider"}]}]}}`), "", "")
	f.Fuzz(func(t *testing.T, document []byte, plugin, config string) {
		g, pods := NewWithT(t), &corev1.PodTemplateSpec{}
		if json.Unmarshal(document, pods) != nil {
			return
		}
		cloud := controlplane.Cloud{VolumePlugin: plugin, Config: config}
		found := cloud.Adapt(pods)
		once := pods.DeepCopy()
		g.Expect(cloud.Adapt(pods)).To(Equal(found))
		g.Expect(pods).To(Equal(once))
	})
}
