// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/pipeline"
)

// finalizer is Gardener's on Shoots.
const finalizer = "gardener"

// establishIdentity writes down what must be known before anything is created:
// that there is something to delete, where it is, and which ranges it uses.
func (op *operation) establishIdentity(ctx context.Context) error {
	if err := op.checkName(); err != nil {
		return err
	}
	if err := op.checkUnchanged(); err != nil {
		return err
	}
	if controllerutil.AddFinalizer(op.shoot, finalizer) {
		patch := client.MergeFromWithOptions(op.stored, client.MergeFromWithOptimisticLock{})
		if err := op.client.Patch(ctx, op.shoot, patch); err != nil {
			return fmt.Errorf("add the finalizer: %w", err)
		}
		op.stored = op.shoot.DeepCopy()
	}
	op.shoot.Status.Networking = networkingInUse(op.shoot)
	if op.shoot.Status.TechnicalID != "" {
		return nil
	}
	op.shoot.Status.TechnicalID = op.namespace
	op.shoot.Status.LastOperation = &corev1beta1.LastOperation{
		Type: corev1beta1.LastOperationTypeCreate, State: corev1beta1.LastOperationStateProcessing, Progress: 1,
		Description: "Creating the control plane", LastUpdateTime: op.now(),
	}
	return op.writeStatus(ctx)
}

// checkName refuses a Shoot whose control-plane namespace could not exist. It has
// to come first: a technical ID never changes.
func (op *operation) checkName() error {
	reasons := validation.IsDNS1123Label(op.namespace)
	if len(reasons) == 0 {
		return nil
	}
	if tooLong := len(op.namespace) - validation.DNS1123LabelMaxLength; tooLong > 0 {
		return misconfigured(fmt.Sprintf(
			"the control-plane namespace would be called %s, which has %d characters; at most %d are allowed: "+
				"create the Shoot under a name that is %d shorter, or in a namespace with a shorter name",
			op.namespace, len(op.namespace), validation.DNS1123LabelMaxLength, tooLong))
	}
	return misconfigured(fmt.Sprintf(
		"the control-plane namespace would be called %s, which is not allowed (%s): create the Shoot under another name",
		op.namespace, strings.Join(reasons, "; ")))
}

// checkUnchanged refuses what a running network cannot change, in the Shoot's
// terms. The Shoot's own schema lets through a range that is stated only after
// the default one was used.
func (op *operation) checkUnchanged() error {
	wanted, err := pipeline.NetworkForShoot(op.shoot)
	if err != nil || op.network == nil {
		return nil
	}
	for _, fixed := range []struct{ path, is, wanted string }{
		{"spec.networking.type", op.network.Spec.Type, wanted.Spec.Type},
		{"spec.networking.pods", op.network.Spec.EffectivePodCIDR(), wanted.Spec.PodCIDR},
		{"spec.networking.services", op.network.Spec.ServiceCIDR, wanted.Spec.ServiceCIDR},
	} {
		if fixed.is != fixed.wanted {
			return misconfigured(fmt.Sprintf("%s: the cluster's network was made with %s, which cannot become %q: set it back, or create a new cluster",
				fixed.path, fixed.is, fixed.wanted))
		}
	}
	return nil
}

// networkingInUse are the ranges that the Shoot uses: those of its Network, which
// states one range of each, and of other IP families what was known before.
func networkingInUse(shoot *corev1beta1.Shoot) *corev1beta1.NetworkingStatus {
	network, err := pipeline.NetworkForShoot(shoot)
	if err != nil {
		return shoot.Status.Networking
	}
	var before corev1beta1.NetworkingStatus
	if shoot.Status.Networking != nil {
		before = *shoot.Status.Networking
	}
	var nodes string
	if n := shoot.Spec.Networking; n != nil && n.Nodes != nil {
		nodes = *n.Nodes
	}
	return &corev1beta1.NetworkingStatus{
		Pods:     withOtherFamilies(network.Spec.PodCIDR, before.Pods),
		Services: withOtherFamilies(network.Spec.ServiceCIDR, before.Services),
		Nodes:    withOtherFamilies(nodes, before.Nodes),
	}
}

// withOtherFamilies replaces the first range of cidr's family in before.
func withOtherFamilies(cidr string, before []string) []string {
	if cidr == "" {
		return before
	}
	ranges, placed := []string(nil), false
	for _, other := range before {
		if isIPv6(other) != isIPv6(cidr) {
			ranges = append(ranges, other)
		} else if !placed {
			ranges, placed = append(ranges, cidr), true
		}
	}
	if !placed {
		ranges = append([]string{cidr}, ranges...)
	}
	return ranges
}

func isIPv6(cidr string) bool { return strings.Contains(cidr, ":") }
