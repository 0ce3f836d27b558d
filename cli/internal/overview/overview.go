// SPDX-License-Identifier: Apache-2.0

// Package overview makes of a Network what users are told of it: as a value with a stable JSON,
// and as a tree. It reads nothing but the Network itself, and distrusts what others wrote into it.
package overview

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
)

// State is a Network's situation in a word.
type State string

// The states of a Network. It has the first that applies.
const (
	Deleting    State = "being deleted"
	Failed      State = "failed"      // the last operation
	Processing  State = "processing"  // the last operation goes on
	Waiting     State = "waiting"     // for the first operation, or for one that carries out the present spec
	Migrated    State = "migrated"    // to another seed
	Unhealthy   State = "unhealthy"   // a condition is False
	Progressing State = "progressing" // a condition is Progressing
	Unknown     State = "unknown"     // a condition is Unknown, or there is none
	Healthy     State = "healthy"     // applied, and all conditions are True
	Gone        State = "gone"        // it was deleted while it was watched
)

// Network is what users are told of a Network.
type Network struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	State     State  `json:"state"`
	// Generation is that of the spec. Applied reports whether the shoot has it.
	Generation         int64 `json:"generation"`
	ObservedGeneration int64 `json:"observedGeneration"`
	Applied            bool  `json:"applied"`
	// Asleep reports whether the Network has succeeded without being applied, because the shoot is
	// hibernated.
	Asleep bool `json:"asleep,omitempty"`
	// RequestedOperation is what an annotation asks for that is not answered yet.
	RequestedOperation string                     `json:"requestedOperation,omitempty"`
	LastOperation      *corev1beta1.LastOperation `json:"lastOperation,omitempty"`
	LastError          *corev1beta1.LastError     `json:"lastError,omitempty"`
	// DataPath is how packets travel and who makes the routes, in the network that the shoot is
	// known to have. Absent if that is unknown.
	DataPath    string                        `json:"dataPath,omitempty"`
	PodCIDR     string                        `json:"podCIDR"`
	ServiceCIDR string                        `json:"serviceCIDR"`
	IPFamilies  []extensionsv1alpha1.IPFamily `json:"ipFamilies,omitempty"`
	Components  []Component                   `json:"components,omitempty"`
	// OtherComponents are those of the cluster, such as kube-proxy, and whether they run wherever they
	// must.
	OtherComponents map[string]bool `json:"otherComponents,omitempty"`
	// Probes reports whether the network was given probes of the connectivity. Absent if it was
	// given nothing yet.
	Probes     *bool                   `json:"probes,omitempty"`
	Conditions []corev1beta1.Condition `json:"conditions,omitempty"`
	// The JSON of the observations is that of the providerStatus.
	extensionsv1alpha1.NetworkObservations
	Warnings []plugin.Warning `json:"warnings,omitempty"`
	// Problem is what of the Network's status could not be read.
	Problem string `json:"problem,omitempty"`
}

// Component is a workload of the network in the shoot.
type Component struct {
	plugin.Component `json:",inline"`
	// Healthy is absent if it is unknown.
	Healthy *bool `json:"healthy,omitempty"`
}

// Of returns what users are told of a Network. It never fails: what cannot be read is told.
func Of(n *extensionsv1alpha1.Network, p *pipeline.Pipeline) Network {
	told := Network{
		Namespace: n.Namespace, Name: n.Name, Type: n.Spec.Type,
		Generation: n.Generation, ObservedGeneration: n.Status.ObservedGeneration,
		Applied:            n.HasSucceeded() && n.Status.ObservedGeneration == n.Generation,
		RequestedOperation: n.RequestedOperation(),
		LastOperation:      n.Status.LastOperation, LastError: n.Status.LastError,
		PodCIDR: n.Spec.EffectivePodCIDR(), ServiceCIDR: n.Spec.ServiceCIDR, IPFamilies: n.Status.IPFamilies,
		Conditions: n.Status.Conditions, State: stateOf(n),
	}
	var observed struct {
		Components map[string]bool `json:"components"`
		extensionsv1alpha1.NetworkObservations
		extensionsv1alpha1.NetworkDataPath
		Warnings []plugin.Warning `json:"warnings"`
	}
	if raw := n.Status.ProviderStatus; raw != nil {
		if err := json.Unmarshal(raw.Raw, &observed); err != nil {
			told.Problem = fmt.Sprintf("status.providerStatus is not Trellis': %v", err)
		}
	}
	told.Warnings, told.NetworkObservations = observed.Warnings, observed.NetworkObservations
	kept, err := state.Decode(n.Status.State)
	if err != nil {
		told.Problem = err.Error()
		return told
	}
	for _, component := range kept.Components {
		one := Component{Component: component}
		if healthy, known := observed.Components[component.Name]; known {
			one.Healthy = &healthy
		}
		delete(observed.Components, component.Name)
		told.Components = append(told.Components, one)
	}
	told.OtherComponents = observed.Components
	if told.Asleep = kept.Unapplied; told.Asleep && told.Applied {
		told.Applied, told.State = false, Waiting
	}
	if len(kept.Bundles) > 0 {
		has := slices.ContainsFunc(kept.Bundles, func(b state.Bundle) bool { return b.Name == probe.BundleName })
		told.Probes = &has
	}
	if kept.Applied != nil {
		told.DataPath, err = p.DataPath(n.Spec.Type, kept.Applied)
		if err != nil && observed.DataPath != "" { // the operator knows more than this program
			told.DataPath, err = observed.DataPath, nil
		}
		if err != nil {
			told.Problem = "how packets travel is unknown: " + err.Error()
		}
	}
	return told
}

// stateOf returns the gravest state that applies.
func stateOf(n *extensionsv1alpha1.Network) State {
	last := n.Status.LastOperation
	switch {
	case !n.DeletionTimestamp.IsZero():
		return Deleting
	case last == nil:
		return Waiting
	case last.State == corev1beta1.LastOperationStateProcessing:
		return Processing
	case last.State != corev1beta1.LastOperationStateSucceeded:
		return Failed
	case last.Type == corev1beta1.LastOperationTypeMigrate:
		return Migrated
	case n.Status.ObservedGeneration != n.Generation:
		return Waiting
	}
	gravest := Healthy
	if len(n.Status.Conditions) == 0 {
		gravest = Unknown
	}
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == extensionsv1alpha1.NetworkUpToDate {
			continue // a network that waits for an update is as healthy as before
		}
		switch n.Status.Conditions[i].Status {
		case corev1beta1.ConditionTrue:
		case corev1beta1.ConditionFalse:
			return Unhealthy
		case corev1beta1.ConditionProgressing:
			gravest = Progressing
		default:
			if gravest == Healthy {
				gravest = Unknown
			}
		}
	}
	return gravest
}
