// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// finalizer is Gardener's finalizer of Shoots.
const finalizer = "gardener"

// identities are what Shoots have before their control planes, and lose after them.
type identities struct {
	seed
	reporter *reporter
}

// establish adds the finalizer, and records where the control plane is and which
// ranges it uses. It writes the status before the run ends: if the process died after an
// object was created and before the technical ID was stored, a deletion would not find
// the object.
func (i identities) establish(ctx context.Context, run *run) outcome.Outcome {
	if err := checkName(run); err != nil {
		return fail(err)
	}
	if err := checkUnchanged(run); err != nil {
		return fail(err)
	}
	if controllerutil.AddFinalizer(run.shoot, finalizer) {
		patch := client.MergeFromWithOptions(run.stored, client.MergeFromWithOptimisticLock{})
		if err := i.Patch(ctx, run.shoot, patch); err != nil {
			return fail(fmt.Errorf("add the finalizer: %w", err))
		}
		run.stored = run.shoot.DeepCopy()
	}
	run.shoot.Status.Networking = networkingInUse(run.shoot, run.infrastructure)
	if run.shoot.Status.TechnicalID != "" {
		return outcome.Continue()
	}
	run.shoot.Status.TechnicalID = run.namespace
	run.shoot.Status.LastOperation = &corev1beta1.LastOperation{
		Type: corev1beta1.LastOperationTypeCreate, State: corev1beta1.LastOperationStateProcessing, Progress: 1,
		Description: "Creating the control plane", LastUpdateTime: i.reporter.now(),
	}
	return fail(i.reporter.writeStatus(ctx, run))
}

// release removes the finalizer from the Shoot.
func (i identities) release(ctx context.Context, run *run) outcome.Outcome {
	controllerutil.RemoveFinalizer(run.shoot, finalizer)
	patch := client.MergeFromWithOptions(run.stored, client.MergeFromWithOptimisticLock{})
	if err := i.Patch(ctx, run.shoot, patch); apierrors.IsNotFound(err) {
		return outcome.StartOver(0) // the run before removed it, and the cache is late
	} else if err != nil {
		return fail(fmt.Errorf("remove the finalizer: %w", err))
	}
	run.released = true
	return outcome.Finish()
}

// checkName refuses a Shoot whose control-plane namespace can't exist, and a new one whose
// names have two consecutive hyphens. It is the first check, since a technical ID never changes.
func checkName(run *run) error {
	if reasons := validation.IsDNS1123Label(run.namespace); len(reasons) > 0 {
		return userError{fmt.Errorf("the control-plane namespace would be called %s, which is not allowed (%s): "+
			"create the Shoot under another name, or in a namespace with a shorter name", run.namespace, strings.Join(reasons, "; "))}
	}
	ambiguous := ambiguousName(run.shoot)
	if ambiguous == nil || run.shoot.Status.TechnicalID != "" || run.controlPlane != nil && !run.isForeign() {
		return nil
	}
	return userError{errors.New(ambiguous.String())}
}

// ambiguousName returns what is wrong with a Shoot in whose name, or namespace, there are two
// consecutive hyphens, which Gardener refuses as well. They separate the project from the Shoot
// in the name of the control-plane namespace: b--c of the project a would have that of c in a--b.
func ambiguousName(shoot *corev1beta1.Shoot) *plugin.Warning {
	for _, of := range []struct{ field, value, remedy string }{
		{"metadata.name", shoot.Name, "create the Shoot under a name with single hyphens only"},
		{"metadata.namespace", shoot.Namespace, "create the Shoot in a namespace with single hyphens only in its name"},
	} {
		if strings.Contains(of.value, "--") {
			return &plugin.Warning{Field: of.field, Message: fmt.Sprintf("%s has two consecutive hyphens, which could make its control plane another Shoot's, "+
				"and which new Shoots must not have: %s", of.value, of.remedy)}
		}
	}
	return nil
}

// mayHaveType reports whether a network is of a type, or its nodes have that of this type.
func mayHaveType(n *extensionsv1alpha1.Network, networkType string) bool {
	kept, err := state.Decode(n.Status.State)
	if n.Spec.Type == networkType || err != nil {
		return n.Spec.Type == networkType
	}
	return state.TypeOf(kept.Applied) == networkType || kept.Exchange != nil && kept.Exchange.Of(networkType) != nil
}

// checkUnchanged refuses changes that a running network can't follow. The CRD of Shoots
// admits two of them: a range that a user states after the default was used, and another type, which
// takes the annotation.
func checkUnchanged(run *run) error {
	wanted, err := pipeline.NetworkForShoot(run.shoot)
	if err != nil || run.network == nil {
		return nil // a stage that needs the Network reports the error
	}
	used := &run.network.Spec
	if !mayHaveType(run.network, wanted.Spec.Type) && run.shoot.Annotations[extensionsv1alpha1.ChangeTypeAnnotation] != extensionsv1alpha1.ChangeTypeAllowed {
		return userError{fmt.Errorf("spec.networking.type: the cluster's network was made with %s: set it back; or annotate the Shoot with %s=%s, and its nodes change to %s one after the other",
			used.Type, extensionsv1alpha1.ChangeTypeAnnotation, extensionsv1alpha1.ChangeTypeAllowed, wanted.Spec.Type)}
	}
	for _, fixed := range []struct{ path, used, wanted string }{
		{"spec.networking.pods", used.EffectivePodCIDR(), wanted.Spec.PodCIDR},
		{"spec.networking.services", used.ServiceCIDR, wanted.Spec.ServiceCIDR},
	} {
		if fixed.used != fixed.wanted {
			return userError{fmt.Errorf("%s: the cluster's network was made with %s, which cannot become %q: set it back, or create a new cluster",
				fixed.path, fixed.used, fixed.wanted)}
		}
	}
	return nil
}
