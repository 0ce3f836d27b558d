// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"encoding/json"
	"math"
	"net/url"
	"reflect"

	"k8s.io/apimachinery/pkg/util/intstr"
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
	// Author is the resource that field paths are about.
	Author Author `json:"author"`
	// Written is the providerConfig as the user wrote it in the Shoot, if that is known.
	// Webhooks may have changed the spec's since. Origins are about this one.
	Written json.RawMessage `json:"written,omitempty"`
	// Facts are what is known of the cluster. Build takes those that the spec states from
	// there: the CIDRs and the IP families.
	Facts plugin.Facts `json:"facts"`
	// Environment is the operator's.
	Environment plugin.Environment `json:"environment"`
	// Nodes is the number of nodes that there are; 0 if unknown.
	Nodes int32 `json:"nodes,omitempty"`
	// MaxUnavailable is the annotation with the number of nodes whose agents may be
	// unavailable during a roll-out, or empty.
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// Applied is what was applied last; nil for a new network.
	Applied *Applied `json:"applied,omitempty"`
	// Present is the effective config that was written for the shoot last, where that is not Applied's.
	// The steps of a transition begin there.
	Present json.RawMessage `json:"present,omitempty"`
	// Step is the effective config of a step on the way to what the spec asks for. Build then makes the
	// network of the step. Nil makes what the spec asks for.
	Step json.RawMessage `json:"step,omitempty"`
	// AtOnce makes every change at once, and none in steps.
	AtOnce bool `json:"atOnce,omitempty"`
	// ChangesType lets the type of a running network change, node by node.
	ChangesType bool `json:"changesType,omitempty"`
	// RoutesAsked reports that the operator has been asked for routes to the pods of all nodes.
	RoutesAsked bool `json:"routesAsked,omitempty"`
	// TakenOver is what a network that another extension has made runs for, until Trellis
	// has applied it. What is wrong with that is not an error either.
	TakenOver *Accepted `json:"takenOver,omitempty"`
	// Runs reports that the network runs, although neither Applied nor TakenOver tells with
	// which config. What no network may begin with is then only a warning.
	Runs bool `json:"runs,omitempty"`
}

// Author is the resource that a user wrote, which determines field paths.
type Author string

const (
	// AuthorNetwork gives the paths of a Network: spec.providerConfig.
	AuthorNetwork Author = "Network"
	// AuthorShoot gives the paths of a Shoot: spec.networking.providerConfig.
	AuthorShoot Author = "Shoot"
	// AuthorConfig gives the paths of a NetworkConfig that stands alone: providerConfig. What
	// is wrong with its cluster has the paths of a Shoot.
	AuthorConfig Author = "NetworkConfig"
)

// Applied is what a network was last applied with. It is kept in the Network's
// status.state, and moves with it to another seed.
type Applied struct {
	// Config is the effective config.
	Config json.RawMessage `json:"config"`
	// Sources are those of its values that are not the plugin's defaults, by path.
	Sources map[string]plugin.Source `json:"sources,omitempty"`
	// Accepted is what it was applied for. What is wrong with that is only a warning. With
	// nil, all errors are errors.
	Accepted *Accepted `json:"accepted,omitempty"`
}

// maxConfig is the greatest length of a config in bytes. It is written into a status several
// times, and an API server stores little more than a megabyte.
const maxConfig = 64 << 10

// NewRequest makes the Request for a Network and, if it is known, its Shoot. Facts that
// neither states have documented defaults: an unknown infrastructure allows everything,
// kube-proxy runs, the cluster is not hibernated. The Network's cloudProvider names the
// infrastructure where the Shoot does not. A Shoot without uid, creation timestamp and
// status is only planned.
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
	request.AtOnce = network.Annotations[extensionsv1alpha1.TransitionAnnotation] == extensionsv1alpha1.TransitionAtOnce
	request.ChangesType = network.Annotations[extensionsv1alpha1.ChangeTypeAnnotation] == extensionsv1alpha1.ChangeTypeAllowed
	request.RoutesAsked = extensionsv1alpha1.AsksForPodRoutes(network, shoot)
	withoutProbe := network.Annotations[extensionsv1alpha1.ProbeAnnotation] == "false"
	infrastructure := network.Spec.CloudProvider
	if shoot != nil {
		request.MaxUnavailable = cmp.Or(request.MaxUnavailable, shoot.Annotations[extensionsv1alpha1.MaxUnavailableAnnotation])
		request.AtOnce = request.AtOnce || shoot.Annotations[extensionsv1alpha1.TransitionAnnotation] == extensionsv1alpha1.TransitionAtOnce
		if _, states := network.Annotations[extensionsv1alpha1.ChangeTypeAnnotation]; !states {
			request.ChangesType = shoot.Annotations[extensionsv1alpha1.ChangeTypeAnnotation] == extensionsv1alpha1.ChangeTypeAllowed
		}
		withoutProbe = withoutProbe || shoot.Annotations[extensionsv1alpha1.ProbeAnnotation] == "false"
		shootFacts(&request.Facts, shoot)
		infrastructure = cmp.Or(shoot.Spec.Provider.Type, infrastructure)
		if n := shoot.Spec.Networking; n != nil && n.ProviderConfig != nil {
			request.Written = json.RawMessage(n.ProviderConfig.Raw)
		}
	}
	if withoutProbe {
		request.Environment.Probe = nil
	}
	request.Facts.IPFamilies = familiesNow(network, shoot)
	request.Facts.WantedIPFamilies = request.Spec.IPFamilies
	request.Facts.Infrastructure = plugin.Infrastructure{Type: infrastructure}
	if provider, ok := p.providers[infrastructure]; ok {
		request.Facts.Infrastructure = provider.Infrastructure(shoot)
	}
	if env.Standalone() { // what makes the routes in a landscape need not be there, nor Gardener's extension
		infrastructure := &request.Facts.Infrastructure
		infrastructure.PodRouter, infrastructure.ReadsOverlay, infrastructure.RefusesOverlay = "", nil, nil
	}
	return request
}

// DualStackReady is the Shoot's constraint that delays a migration to dual-stack while it is
// not True (Gardener's contract).
const DualStackReady = "DualStackNodesMigrationReady"

// familiesNow returns the families to deploy now: the wanted ones, [IPv4] if there are none,
// and only the first one until all nodes are ready for two.
func familiesNow(network *extensionsv1alpha1.Network, shoot *corev1beta1.Shoot) []extensionsv1alpha1.IPFamily {
	wanted := network.Spec.IPFamilies
	if len(wanted) == 0 {
		return []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4}
	}
	if shoot == nil || len(wanted) == 1 {
		return wanted
	}
	for _, constraint := range shoot.Status.Constraints {
		if constraint.Type == DualStackReady && constraint.Status != corev1beta1.ConditionTrue {
			return keepBoth(wanted[:1], wanted, network.Status.IPFamilies)
		}
	}
	return wanted
}

// keepBoth returns the families to deploy now in a network that has some deployed. Nodes
// that are not ready delay a second family, but never remove one: a node that joins late
// must not cut off the pods of all others. Only the user removes a family.
func keepBoth(now, wanted, deployed []extensionsv1alpha1.IPFamily) []extensionsv1alpha1.IPFamily {
	if len(wanted) > 1 && len(deployed) > 1 {
		return wanted
	}
	return now
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
	manager := ptr.Deref(spec.Kubernetes.KubeControllerManager, corev1beta1.KubeControllerManager{})
	facts.NodeCIDRMaskSize = ptr.Deref(manager.NodeCIDRMaskSize, 0)
	for _, worker := range spec.Provider.Workers {
		facts.NodesAtLeast = sumOf(facts.NodesAtLeast, worker.Minimum)
		facts.NodesAtMost = sumOf(facts.NodesAtMost, worker.Maximum)
		facts.NodesInSurge = sumOf(facts.NodesInSurge, surgeOf(&worker))
	}
	reported := ptr.Deref(shoot.Status.Networking, corev1beta1.NetworkingStatus{})
	facts.PodCIDRs, facts.ServiceCIDRs, facts.NodeCIDRs = reported.Pods, reported.Services, reported.Nodes
}

// sumOf returns the sum of two numbers of nodes, or the greatest number if that is less. A number
// below zero counts as none.
func sumOf(a, b int32) int32 { return int32(min(int64(a)+max(0, int64(b)), math.MaxInt32)) }

// surgeOf returns how many nodes more than its maximum a group may have while its nodes are
// replaced, each by one at most; 0 if what it states is neither a number nor a percentage.
func surgeOf(group *corev1beta1.Worker) int32 {
	if group.MaxSurge == nil {
		return 0
	}
	more, err := intstr.GetScaledValueFromIntOrPercent(group.MaxSurge, int(group.Maximum), true)
	if err != nil {
		return 0
	}
	return int32(min(max(0, more), max(0, int(group.Maximum))))
}

// externalAddress names the address of an API server for everyone (Gardener's contract).
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
