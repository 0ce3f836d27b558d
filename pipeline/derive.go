// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// The ranges that Gardener's API server writes into a Shoot without any.
const (
	DefaultPodCIDR     = "100.96.0.0/11"
	DefaultServiceCIDR = "100.64.0.0/13"
)

// ErrWorkerless is returned for a Shoot that has no workers, and so no network.
var ErrWorkerless = errors.New("a Shoot without workers has no pod network; list the workers of one that is to have a network")

// NetworkForShoot derives the Network that gardenlet would write for a Shoot.
// It does not check the Shoot, since Build does. It returns ErrWorkerless if there is none.
func NetworkForShoot(shoot *corev1beta1.Shoot) (*extensionsv1alpha1.Network, error) {
	if len(shoot.Spec.Provider.Workers) == 0 {
		return nil, ErrWorkerless
	}
	networking := ptr.Deref(shoot.Spec.Networking, corev1beta1.Networking{})
	network := &extensionsv1alpha1.Network{
		TypeMeta: metav1.TypeMeta{
			APIVersion: extensionsv1alpha1.GroupVersion.String(),
			Kind:       "Network",
		},
		ObjectMeta: metav1.ObjectMeta{Name: shoot.Name, Namespace: ControlPlaneNamespace(shoot)},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type:           ptr.Deref(networking.Type, ""),
			ProviderConfig: networking.ProviderConfig.DeepCopy(),
		},
	}
	families := networking.IPFamilies
	if len(families) == 0 {
		families = []string{string(extensionsv1alpha1.IPv4)}
	}
	for _, family := range families {
		network.Spec.IPFamilies = append(network.Spec.IPFamilies, extensionsv1alpha1.IPFamily(family))
	}
	status := ptr.Deref(shoot.Status.Networking, corev1beta1.NetworkingStatus{})
	network.Spec.PodCIDR = primaryCIDR(ptr.Deref(networking.Pods, ""), status.Pods, families, DefaultPodCIDR)
	network.Spec.ServiceCIDR = primaryCIDR(ptr.Deref(networking.Services, ""), status.Services, families, DefaultServiceCIDR)
	return network, nil
}

// ControlPlaneNamespace is the namespace in the seed that belongs to a Shoot:
// its technical ID, and until it has one, the one that it will get.
func ControlPlaneNamespace(shoot *corev1beta1.Shoot) string {
	if id := shoot.Status.TechnicalID; id != "" {
		return id
	}
	return "shoot--" + strings.TrimPrefix(cmp.Or(shoot.Namespace, "default"), "garden-") + "--" + shoot.Name
}

// primaryCIDR returns the one range that a Network has: the one in the Shoot's spec;
// otherwise the first one of the primary family in its status, which is IPv4 for two
// families; otherwise the default, which exists for IPv4 only.
func primaryCIDR(spec string, status, families []string, ipv4Default string) string {
	if spec != "" {
		return spec
	}
	family := families[0]
	if len(families) > 1 {
		family = string(extensionsv1alpha1.IPv4)
	}
	isIPv6 := family == string(extensionsv1alpha1.IPv6)
	for _, cidr := range status {
		if strings.Contains(cidr, ":") == isIPv6 {
			return cidr
		}
	}
	if isIPv6 {
		return ""
	}
	return ipv4Default
}
