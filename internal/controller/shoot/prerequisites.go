// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// PrerequisitesName is the name of the ManagedResource with the objects that Gardener
// creates in a shoot before the network.
const PrerequisitesName = "trellis-prerequisites"

// priorityClasses are those of Gardener's shoots, with their values. Kubernetes itself has
// system-node-critical and system-cluster-critical.
var priorityClasses = []struct {
	name  string
	value int32
}{
	{"gardener-shoot-system-900", 999999900},
	{"gardener-shoot-system-800", 999999800},
	{"gardener-shoot-system-700", 999999700},
	{"gardener-shoot-system-600", 999999600},
}

// prerequisites of a network: a bundle with what its pods need in the cluster.
type prerequisites struct{ seed }

// read returns the wanted bundle, and its ManagedResource, nil if there is none.
func (p prerequisites) read(ctx context.Context, namespace string) (*bundle.Bundle, *resourcesv1alpha1.ManagedResource, error) {
	var objects []plugin.Object
	for _, class := range priorityClasses {
		objects = append(objects, &schedulingv1.PriorityClass{
			TypeMeta:    metav1.TypeMeta{APIVersion: schedulingv1.SchemeGroupVersion.String(), Kind: "PriorityClass"},
			ObjectMeta:  metav1.ObjectMeta{Name: class.name},
			Value:       class.value,
			Description: "Pods of the cluster's system components.",
		})
	}
	data, err := pipeline.Documents(objects)
	if err != nil {
		return nil, nil, err
	}
	wanted := &bundle.Bundle{Namespace: namespace, Name: PrerequisitesName, Origin: "trellis", Data: data}
	current := &resourcesv1alpha1.ManagedResource{}
	err = p.Get(ctx, client.ObjectKey{Namespace: namespace, Name: PrerequisitesName}, current)
	if apierrors.IsNotFound(err) {
		return wanted, nil, nil
	}
	return wanted, current, err
}

// deploy writes the prerequisites. It creates a Secret that is gone again.
func (p prerequisites) deploy(ctx context.Context, run *run) outcome.Outcome {
	wanted, current, err := p.read(ctx, run.namespace)
	if err == nil && current != nil && bundle.SecretMissing(current) {
		err = wanted.WriteSecret(ctx, p)
	}
	if err == nil {
		_, err = wanted.Write(ctx, p, current)
	}
	return fail(err)
}

// await waits until the prerequisites are applied, and then deletes the Secrets with former
// ones. It is the last stage, so that they are applied at the same time as the Network. In a
// hibernated cluster nothing can be applied.
func (p prerequisites) await(ctx context.Context, run *run) outcome.Outcome {
	if run.shoot.IsHibernated() {
		return outcome.Continue()
	}
	wanted, current, err := p.read(ctx, run.namespace)
	if err != nil {
		return fail(err)
	}
	if current != nil && bundle.Applied(current, wanted.SecretName()) {
		managed := map[string]*resourcesv1alpha1.ManagedResource{PrerequisitesName: current}
		return fail(bundle.DeleteSuperseded(ctx, p, p.cached, run.namespace, bundle.LabelsOf(PrerequisitesName), managed))
	}
	until := fmt.Sprintf("the ManagedResource %s/%s is applied", run.namespace, PrerequisitesName)
	if current != nil {
		until += appliedMessage(current)
	}
	return outcome.Wait(until, 0)
}

// appliedMessage returns what the resource manager reports of a ManagedResource, to be
// appended to a description. A failure may be about an older generation: the resource
// manager does not mark as observed what it cannot apply.
func appliedMessage(mr *resourcesv1alpha1.ManagedResource) string {
	applied := bundle.AppliedCondition(mr)
	current := mr.Status.ObservedGeneration == mr.Generation
	if applied.Message == "" || !current && applied.Status != corev1beta1.ConditionFalse {
		return ""
	}
	return ": " + applied.Message
}
