// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/internal/outcome"
)

// credentialsSuffix follows the name of the Shoot in the name of the user's Secret with the
// credentials for the infrastructure, which is in the Shoot's namespace.
const credentialsSuffix = ".cloudprovider"

// maxProviderStatus is how many bytes of an Infrastructure's providerStatus are passed on at most.
// An API server stores little more than a megabyte, and a ControlPlane has a configuration, too.
const maxProviderStatus = 512 << 10

// infrastructures are the Infrastructures and ControlPlanes of Shoots, which come before their
// Networks and after them. Controllers of others reconcile them. Their configurations and their
// providerStatus are passed on as they are, without reading them.
type infrastructures struct {
	seed
	// providers are the types of infrastructure that have such controllers in the seed.
	providers []string
	clock     clock.PassiveClock
}

// serve reports whether a Shoot can have an Infrastructure.
func (i infrastructures) serve(shoot *corev1beta1.Shoot) bool {
	return slices.Contains(i.providers, shoot.Spec.Provider.Type)
}

// find reads the Infrastructure of a Shoot that stays.
func (i infrastructures) find(ctx context.Context, run *run) error {
	if !i.serve(run.shoot) || isDeleting(run.shoot) {
		return nil
	}
	found := &extensionsv1alpha1.Infrastructure{}
	if err := i.read(ctx, run, found); err != nil {
		return err
	}
	if found.Name != "" {
		run.infrastructure = found
	}
	return nil
}

// deploy writes the Infrastructure of a Shoot that has an infrastructureConfig.
func (i infrastructures) deploy(ctx context.Context, run *run) outcome.Outcome {
	current := &extensionsv1alpha1.Infrastructure{}
	if run.infrastructure != nil {
		current = run.infrastructure
	}
	provider := &run.shoot.Spec.Provider
	if provider.InfrastructureConfig == nil {
		if run.infrastructure != nil {
			return fail(userError{errors.New("spec.provider.infrastructureConfig: a cluster that has an Infrastructure must keep its configuration")})
		}
		return outcome.Continue()
	}
	wanted := current.DeepCopy()
	wanted.Spec = extensionsv1alpha1.InfrastructureSpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: provider.Type, ProviderConfig: provider.InfrastructureConfig.DeepCopy()},
		Region:      run.shoot.Spec.Region, SecretRef: credentialsOf(run.shoot),
	}
	run.infrastructure = wanted
	return i.write(ctx, run, current, wanted, current.Spec, wanted.Spec)
}

// await waits until the Infrastructure is ready, with ranges that a Shoot can use.
func (i infrastructures) await(_ context.Context, run *run) outcome.Outcome {
	if run.infrastructure == nil {
		return outcome.Continue()
	}
	if !isReady(run.infrastructure) {
		return forInfrastructure.until(run.infrastructure, i.clock.Now())
	}
	if _, err := reportedRanges(run.infrastructure); err != nil {
		return outcome.Fail(err)
	}
	return outcome.Continue()
}

// deployControlPlane writes the ControlPlane of a Shoot that has an Infrastructure, and passes on
// what that has reported.
func (i infrastructures) deployControlPlane(ctx context.Context, run *run) outcome.Outcome {
	if run.infrastructure == nil {
		return outcome.Continue()
	}
	reported := run.infrastructure.Status.ProviderStatus.DeepCopy()
	if reported != nil && len(reported.Raw) > maxProviderStatus {
		return outcome.Fail(fmt.Errorf("the Infrastructure %s reports a providerStatus of %d bytes, of which a ControlPlane can have %d at most",
			client.ObjectKeyFromObject(run.infrastructure), len(reported.Raw), maxProviderStatus))
	}
	current := &extensionsv1alpha1.ControlPlane{}
	if err := i.read(ctx, run, current); err != nil {
		return fail(err)
	}
	provider := &run.shoot.Spec.Provider
	wanted := current.DeepCopy()
	wanted.Spec = extensionsv1alpha1.ControlPlaneSpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: provider.Type, ProviderConfig: provider.ControlPlaneConfig.DeepCopy()},
		Region:      run.shoot.Spec.Region, SecretRef: credentialsOf(run.shoot),
		InfrastructureProviderStatus: reported,
	}
	run.controlPlaneExtension = wanted
	return i.write(ctx, run, current, wanted, current.Spec, wanted.Spec)
}

// awaitControlPlane waits until the ControlPlane is ready.
func (i infrastructures) awaitControlPlane(_ context.Context, run *run) outcome.Outcome {
	if run.controlPlaneExtension == nil {
		return outcome.Continue()
	}
	return forControlPlane.until(run.controlPlaneExtension, i.clock.Now())
}

// deleteControlPlane deletes the ControlPlane, and waits until it is gone.
func (i infrastructures) deleteControlPlane(ctx context.Context, run *run) outcome.Outcome {
	return i.delete(ctx, run, forControlPlane, &extensionsv1alpha1.ControlPlane{})
}

// deleteInfrastructure deletes the Infrastructure, and waits until it is gone.
func (i infrastructures) deleteInfrastructure(ctx context.Context, run *run) outcome.Outcome {
	return i.delete(ctx, run, forInfrastructure, &extensionsv1alpha1.Infrastructure{})
}

// credentialsOf returns the user's Secret with the credentials, which only the controllers of the
// infrastructure read.
func credentialsOf(shoot *corev1beta1.Shoot) corev1.SecretReference {
	return corev1.SecretReference{Namespace: shoot.Namespace, Name: shoot.Name + credentialsSuffix}
}

// read reads an object from the cache. One that does not exist stays empty.
func (i infrastructures) read(ctx context.Context, run *run, object client.Object) error {
	return client.IgnoreNotFound(i.Get(ctx, client.ObjectKey{Namespace: run.namespace, Name: run.shoot.Name}, object))
}

// write creates an object, or updates it if its spec has changed, with the annotations by which a
// gardenlet requests a reconciliation. The object is replaced as a whole: a patch could not set a
// null in a configuration.
func (i infrastructures) write(ctx context.Context, run *run, current, wanted client.Object, before, after any) outcome.Outcome {
	exists := current.GetName() != ""
	if exists && isDeleting(current) {
		return outcome.Wait(fmt.Sprintf("%s, which is being deleted, is gone", client.ObjectKeyFromObject(current)), 0)
	}
	if same, err := jsonequal.Values(before, after); exists && (err != nil || same) {
		return fail(err)
	}
	annotations := map[string]string{}
	maps.Copy(annotations, current.GetAnnotations())
	annotations[extensionsv1alpha1.OperationAnnotation] = extensionsv1alpha1.OperationReconcile
	annotations[extensionsv1alpha1.TimestampAnnotation] = timestamp(i.clock.Now())
	wanted.SetAnnotations(annotations)
	if exists {
		return fail(i.Update(ctx, wanted))
	}
	wanted.SetNamespace(run.namespace)
	wanted.SetName(run.shoot.Name)
	return fail(i.Create(ctx, wanted))
}

// unwatchedFor is how long the end of an object may go unnoticed that no watch announces.
const unwatchedFor = 5 * time.Second

// delete deletes an object of the Shoot, and waits until it is gone. It also does so when the
// configuration no longer lists the Shoot's infrastructure, and then no watch may announce the end.
func (i infrastructures) delete(ctx context.Context, run *run, awaited wait, object extensionsv1alpha1.Object) outcome.Outcome {
	key := client.ObjectKey{Namespace: run.namespace, Name: run.shoot.Name}
	err := i.live.Get(ctx, key, object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return outcome.Continue()
	}
	if err != nil {
		return fail(err)
	}
	now := i.clock.Now()
	if err := i.deleteConfirmed(ctx, object, map[string]string{extensionsv1alpha1.TimestampAnnotation: timestamp(now)}); err != nil {
		return fail(err)
	}
	ended := awaited.untilGone(object, now)
	if len(i.providers) == 0 {
		return ended.Within(unwatchedFor)
	}
	return ended
}

// timestamp is the value of extensionsv1alpha1.TimestampAnnotation for a request made at this time.
func timestamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
