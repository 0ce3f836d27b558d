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
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
)

// networks are the Networks of Shoots.
type networks struct{ seed }

// deploy writes the Network as gardenlet does, except the operation annotation: in
// standalone mode a new generation is the trigger.
func (n networks) deploy(ctx context.Context, run *run) outcome.Outcome {
	wanted, err := pipeline.NetworkForShoot(run.shoot)
	if errors.Is(err, pipeline.ErrWorkerless) {
		if run.network == nil {
			return outcome.Continue()
		}
		err = userError{errors.New("spec.provider.workers: a cluster that has a pod network must keep at least one group of workers")}
	}
	if err != nil {
		return fail(err)
	}
	if wanted.Spec.PodCIDR == "" || wanted.Spec.ServiceCIDR == "" {
		return fail(userError{errors.New("spec.networking: pods and services are required: these IP families have no default ranges")})
	}
	if run.network == nil {
		run.network = wanted
		return fail(explained(n.Create(ctx, wanted)))
	}
	if isDeleting(run.network) {
		return outcome.Wait(fmt.Sprintf("the Network %s, which is being deleted, is gone", client.ObjectKeyFromObject(run.network)), 0)
	}
	if same, err := jsonequal.Values(run.network.Spec, wanted.Spec); err != nil || same {
		return fail(err)
	}
	// The spec is replaced as a whole: a merge patch could not set a null in the config.
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": wanted.Spec}})
	if err != nil {
		return fail(err)
	}
	run.network = run.network.DeepCopy()
	return fail(explained(n.Patch(ctx, run.network, client.RawPatch(types.JSONPatchType, patch))))
}

// await waits until the Network has succeeded. The Network's error becomes the
// Shoot's.
func (n networks) await(ctx context.Context, run *run) outcome.Outcome {
	if run.isWorkerless() {
		return outcome.Continue()
	}
	until := fmt.Sprintf("the Network %s is ready", client.ObjectKeyFromObject(run.network))
	last := run.network.Status.LastOperation
	const processing = corev1beta1.LastOperationStateProcessing
	if last != nil && last.State == processing {
		until += ": " + last.Description
	}
	switch {
	case !run.isNetworkCurrent() || last.State == processing:
		return outcome.Wait(until+n.applyFailure(ctx, run.namespace), 0)
	case last.State == corev1beta1.LastOperationStateSucceeded:
		return outcome.Continue()
	}
	return networkFailure(run.network)
}

// delete deletes the Networks in the control-plane namespace, and waits until they
// are gone.
func (n networks) delete(ctx context.Context, run *run) outcome.Outcome {
	if len(run.networks) == 0 {
		return outcome.Continue()
	}
	for i := range run.networks {
		if err := n.deleteConfirmed(ctx, &run.networks[i], nil); err != nil {
			return fail(err)
		}
	}
	network := &run.networks[0]
	last := network.Status.LastOperation
	if last != nil && last.Type == corev1beta1.LastOperationTypeDelete && last.State == corev1beta1.LastOperationStateError {
		return networkFailure(network)
	}
	return outcome.Wait(fmt.Sprintf("the Network %s is gone%s", client.ObjectKeyFromObject(network), n.applyFailure(ctx, run.namespace)), 0)
}

func (run *run) isWorkerless() bool { return len(run.shoot.Spec.Provider.Workers) == 0 }

// isNetworkCurrent reports whether the Network's status is about its present spec, and
// about the Shoot as the Cluster has it now.
func (run *run) isNetworkCurrent() bool {
	network := run.network
	if network == nil || network.Status.LastOperation == nil || network.Status.ObservedGeneration != network.Generation {
		return false
	}
	kept, err := state.Decode(network.Status.State)
	// Another program's state has no generation; the Network's own status reports that. Nor has
	// that of a Network which was refused unread, since no operator has its type.
	isRefused := err == nil && kept.ShootGeneration == 0 && network.Status.LastOperation.State == corev1beta1.LastOperationStateError
	return err != nil || isRefused || kept.ShootGeneration == run.shoot.Generation
}

// networkFailure returns the error in a Network's status as an outcome.
func networkFailure(network *extensionsv1alpha1.Network) outcome.Outcome {
	description, codes := network.Status.LastOperation.Description, []corev1beta1.ErrorCode(nil)
	if last := network.Status.LastError; last != nil {
		description, codes = last.Description, last.Codes
	}
	return outcome.Fail(errors.New(withShootPaths(description)), codes...)
}
