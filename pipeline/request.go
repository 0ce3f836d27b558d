// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"encoding/json"
	"net/url"
	"reflect"

	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// Request is all that a Result depends on. It is a value: encoded as JSON and
// decoded again it is the same Request.
type Request struct {
	// Name and Namespace are the Network's.
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Spec is the Network's.
	Spec extensionsv1alpha1.NetworkSpec `json:"spec"`
	// Author says in whose terms field paths are given.
	Author Author `json:"author"`
	// Written is the providerConfig as the user wrote it in the Shoot, where that
	// is known; the spec's may have passed webhooks since. Origins go by it.
	Written json.RawMessage `json:"written,omitempty"`
	// Facts are what is known of the cluster. Build takes those that the spec states from
	// there: the CIDRs and the IP families.
	Facts plugin.Facts `json:"facts"`
	// Environment is the operator's.
	Environment plugin.Environment `json:"environment"`
	// Nodes is the number of nodes that there are; 0 if unknown.
	Nodes int32 `json:"nodes,omitempty"`
	// MaxUnavailable is the annotation that sets on how many nodes the agents may be
	// missing during a roll-out, or empty.
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// Applied is what was applied last; nil for a new network.
	Applied *Applied `json:"applied,omitempty"`
	// TakenOver is what a network runs for of which Trellis has not applied anything yet:
	// one that another has made. What is wrong with that is not an error either.
	TakenOver *Accepted `json:"takenOver,omitempty"`
}

// Author says which resource a user wrote, and so what field paths look like.
type Author string

const (
	// AuthorNetwork gives the paths of a Network: spec.providerConfig.
	AuthorNetwork Author = "Network"
	// AuthorShoot gives the paths of a Shoot: spec.networking.providerConfig.
	AuthorShoot Author = "Shoot"
)

// Applied is what a network was last applied with. It is kept in the Network's
// status.state, and moves with it to another seed.
type Applied struct {
	// Config is the effective config.
	Config json.RawMessage `json:"config"`
	// Sources are the sources of its values which are not the plugin's defaults,
	// by path.
	Sources map[string]plugin.Source `json:"sources,omitempty"`
	// Accepted is what it was applied for. What is wrong with that is not an error
	// any more; nil forgives nothing.
	Accepted *Accepted `json:"accepted,omitempty"`
}

// NewRequest makes the Request for a Network and, where it is known, its Shoot.
// Facts that neither states have documented defaults: an unknown infrastructure
// allows everything, kube-proxy runs, the cluster is not hibernated. A Shoot without
// uid, creation timestamp and status is only planned.
func (p *Pipeline) NewRequest(network *extensionsv1alpha1.Network, shoot *corev1beta1.Shoot, env plugin.Environment) Request {
	request := Request{
		Name: network.Name, Namespace: network.Namespace,
		Spec:   *network.Spec.DeepCopy(),
		Author: AuthorNetwork,
		Facts: plugin.Facts{
			Namespace: network.Namespace,
			KubeProxy: plugin.KubeProxy{Enabled: true},
			Planned:   !isMade(shoot),
		},
		Environment: env,
	}
	request.MaxUnavailable = network.Annotations[extensionsv1alpha1.MaxUnavailableAnnotation]
	infrastructure := network.Spec.CloudProvider
	if shoot != nil {
		request.MaxUnavailable = cmp.Or(request.MaxUnavailable, shoot.Annotations[extensionsv1alpha1.MaxUnavailableAnnotation])
		shootFacts(&request.Facts, shoot)
		infrastructure = shoot.Spec.Provider.Type
		if n := shoot.Spec.Networking; n != nil && n.ProviderConfig != nil {
			request.Written = json.RawMessage(n.ProviderConfig.Raw)
		}
	}
	request.Facts.IPFamilies = familiesNow(network, shoot)
	request.Facts.WantedIPFamilies = request.Spec.IPFamilies
	request.Facts.Infrastructure = plugin.Infrastructure{Type: infrastructure}
	if provider, ok := p.providers[infrastructure]; ok {
		request.Facts.Infrastructure = provider.Infrastructure(shoot)
	}
	return request
}

// isMade reports whether Gardener has begun to make the cluster of a Shoot. Without a
// Shoot it returns false, since a Network alone does not show this.
func isMade(shoot *corev1beta1.Shoot) bool {
	return shoot != nil && (shoot.UID != "" || !shoot.CreationTimestamp.IsZero() ||
		!reflect.DeepEqual(shoot.Status, corev1beta1.ShootStatus{}))
}

func shootFacts(facts *plugin.Facts, shoot *corev1beta1.Shoot) {
	spec := &shoot.Spec
	facts.KubernetesVersion = spec.Kubernetes.Version
	proxy := ptr.Deref(spec.Kubernetes.KubeProxy, corev1beta1.KubeProxy{})
	facts.KubeProxy = plugin.KubeProxy{Enabled: ptr.Deref(proxy.Enabled, true), Mode: ptr.Deref(proxy.Mode, "")}
	api := ptr.Deref(spec.Kubernetes.KubeAPIServer, corev1beta1.KubeAPIServer{})
	facts.APIServer = plugin.APIServer{
		FeatureGates: api.FeatureGates, RuntimeConfig: api.RuntimeConfig,
		ExternalHost: externalHost(shoot.Status.AdvertisedAddresses),
	}
	facts.VPA = ptr.Deref(spec.Kubernetes.VerticalPodAutoscaler, corev1beta1.VerticalPodAutoscaler{}).Enabled
	if system := spec.SystemComponents; system != nil && system.NodeLocalDNS != nil {
		facts.NodeLocalDNS = system.NodeLocalDNS.Enabled
	}
	facts.Hibernated = shoot.IsHibernated()
	facts.NodeCIDR = ptr.Deref(ptr.Deref(spec.Networking, corev1beta1.Networking{}).Nodes, "")
	for _, worker := range spec.Provider.Workers {
		facts.NodesAtLeast += worker.Minimum
		facts.NodesAtMost += worker.Maximum
	}
	reported := ptr.Deref(shoot.Status.Networking, corev1beta1.NetworkingStatus{})
	facts.PodCIDRs, facts.ServiceCIDRs, facts.NodeCIDRs = reported.Pods, reported.Services, reported.Nodes
}

// externalAddress is the name of the address by which an API server is reached from
// anywhere (Gardener's contract).
const externalAddress = "external"

func externalHost(addresses []corev1beta1.AdvertisedAddress) string {
	for _, address := range addresses {
		if address.Name != externalAddress {
			continue
		}
		if parsed, err := url.Parse(address.URL); err == nil {
			return parsed.Hostname()
		}
	}
	return ""
}
