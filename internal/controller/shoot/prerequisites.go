// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// PrerequisitesName is the name of the ManagedResource with what a shoot of
// Gardener's has before its network comes.
const PrerequisitesName = "trellis-prerequisites"

// priorityClasses are those that Gardener brings to a shoot, with their values.
// Kubernetes itself has system-node-critical and system-cluster-critical.
var priorityClasses = []struct {
	name  string
	value int32
}{
	{"gardener-shoot-system-900", 999999900},
	{"gardener-shoot-system-800", 999999800},
	{"gardener-shoot-system-700", 999999700},
	{"gardener-shoot-system-600", 999999600},
}

func (op *operation) prerequisites() (*bundle.Bundle, error) {
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
	return &bundle.Bundle{Namespace: op.namespace, Name: PrerequisitesName, Origin: "trellis", Data: data}, err
}

// managedPrerequisites is the ManagedResource as last seen, nil if there is none.
func (op *operation) managedPrerequisites(ctx context.Context) (*resourcesv1alpha1.ManagedResource, error) {
	managed := &resourcesv1alpha1.ManagedResource{}
	err := op.client.Get(ctx, client.ObjectKey{Namespace: op.namespace, Name: PrerequisitesName}, managed)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return managed, err
}

func (op *operation) deployPrerequisites(ctx context.Context) error {
	wanted, err := op.prerequisites()
	if err != nil {
		return err
	}
	current, err := op.managedPrerequisites(ctx)
	if err != nil {
		return err
	}
	if current != nil && bundle.SecretMissing(current) {
		if err := wanted.WriteSecret(ctx, op.client); err != nil {
			return err
		}
	}
	_, err = wanted.Write(ctx, op.client, current)
	return err
}

// awaitPrerequisites comes after the Network was deployed, so that the two are
// applied at the same time. A cluster that sleeps is not waited for.
func (op *operation) awaitPrerequisites(ctx context.Context) error {
	if h := op.shoot.Spec.Hibernation; h != nil && h.Enabled != nil && *h.Enabled {
		return nil
	}
	wanted, err := op.prerequisites()
	if err != nil {
		return err
	}
	current, err := op.managedPrerequisites(ctx)
	if err != nil {
		return err
	}
	if current == nil || !bundle.Applied(current, wanted.SecretName()) {
		return waiting{fmt.Sprintf("the ManagedResource %s/%s is applied%s", op.namespace, PrerequisitesName, whyNotApplied(current))}
	}
	return nil
}
