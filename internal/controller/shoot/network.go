// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
)

// deployNetwork writes the Network as gardenlet would, but for the operation
// annotation: in standalone mode its generation is what triggers.
func (op *operation) deployNetwork(ctx context.Context) error {
	wanted, err := pipeline.NetworkForShoot(op.shoot)
	if errors.Is(err, pipeline.ErrWorkerless) {
		return op.checkWorkerless()
	}
	if err != nil {
		return err
	}
	if wanted.Spec.PodCIDR == "" || wanted.Spec.ServiceCIDR == "" {
		return misconfigured("spec.networking: pods and services must be stated, since the wanted IP families have no default ranges")
	}
	if op.network == nil {
		if err := op.client.Create(ctx, wanted); err != nil {
			return refused(err)
		}
		op.network = wanted
		return nil
	}
	if isDeleting(op.network) {
		return waiting{fmt.Sprintf("the Network %s, which is being deleted, is gone", client.ObjectKeyFromObject(op.network))}
	}
	return op.replaceNetworkSpec(ctx, &wanted.Spec)
}

// replaceNetworkSpec replaces the spec as a whole, since a merge patch could not
// state a null in the user's config.
func (op *operation) replaceNetworkSpec(ctx context.Context, spec *extensionsv1alpha1.NetworkSpec) error {
	same, err := sameJSON(op.network.Spec, spec)
	if err != nil || same {
		return err
	}
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": spec}})
	if err != nil {
		return err
	}
	written := op.network.DeepCopy()
	if err := op.client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return refused(err)
	}
	op.network = written
	return nil
}

func (op *operation) isWorkerless() bool { return len(op.shoot.Spec.Provider.Workers) == 0 }

// checkWorkerless refuses to take the network from a cluster that has one.
func (op *operation) checkWorkerless() error {
	if op.network == nil {
		return nil
	}
	return misconfigured("spec.provider.workers: a cluster that has a pod network must keep at least one group of workers")
}

// networkCounts says that the Network's status is about its present spec, and
// about the Shoot in the Cluster as it is now.
func (op *operation) networkCounts() bool {
	network := op.network
	if network == nil || network.Status.LastOperation == nil || network.Status.ObservedGeneration != network.Generation {
		return false
	}
	kept, err := state.Decode(network.Status.State)
	// A state that is not Trellis' tells nothing; the Network has said so.
	return err != nil || kept.ShootGeneration == op.shoot.Generation
}

// awaitNetwork succeeds once the Network has. Its error is the Shoot's.
func (op *operation) awaitNetwork(ctx context.Context) error {
	if op.isWorkerless() {
		return nil
	}
	until := fmt.Sprintf("the Network %s is ready", client.ObjectKeyFromObject(op.network))
	last := op.network.Status.LastOperation
	const working = corev1beta1.LastOperationStateProcessing
	if last != nil && last.State == working {
		until += ": " + last.Description
	}
	switch {
	case !op.networkCounts() || last.State == working:
		return waiting{until + op.obstacle(ctx)}
	case last.State == corev1beta1.LastOperationStateSucceeded:
		return nil
	default:
		return networkProblem(op.network)
	}
}

func networkProblem(network *extensionsv1alpha1.Network) problem {
	p := problem{description: inShootTerms(network.Status.LastOperation.Description)}
	if lastError := network.Status.LastError; lastError != nil {
		p.description, p.codes = inShootTerms(lastError.Description), lastError.Codes
	}
	return p
}
