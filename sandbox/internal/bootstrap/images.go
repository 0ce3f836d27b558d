// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// MissingImage is an image that nodes cannot get, so that pods wait for it.
type MissingImage struct {
	Image string `json:"image"`
	// Reason and Message are the kubelet's.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Pods are the pods that wait, as NAMESPACE/NAME.
	Pods []string `json:"pods"`
}

// imageReasons are the reasons for which the kubelet has a container wait for its image.
var imageReasons = []string{
	"ErrImageNeverPull", "ErrImagePull", "ImageInspectError", "ImagePullBackOff", "InvalidImageName", "RegistryUnavailable", "SignatureValidationFailed",
}

// MissingImages returns the images for which pods of a cluster wait, in the order of their
// names. Each has the reason of one of its pods.
func MissingImages(ctx context.Context, client kubernetes.Interface) ([]MissingImage, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	missing := []MissingImage{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
			waiting := container.State.Waiting
			if waiting == nil || !slices.Contains(imageReasons, waiting.Reason) {
				continue
			}
			missing = add(missing, container, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.SortFunc(missing, func(a, b MissingImage) int { return strings.Compare(a.Image, b.Image) })
	return missing, nil
}

// add adds a pod to those that wait for the image of a container.
func add(missing []MissingImage, container corev1.ContainerStatus, pod string) []MissingImage {
	index := slices.IndexFunc(missing, func(m MissingImage) bool { return m.Image == container.Image })
	if index < 0 {
		waiting := container.State.Waiting
		return append(missing, MissingImage{Image: container.Image, Reason: waiting.Reason, Message: waiting.Message, Pods: []string{pod}})
	}
	if !slices.Contains(missing[index].Pods, pod) {
		missing[index].Pods = append(missing[index].Pods, pod)
	}
	return missing
}
