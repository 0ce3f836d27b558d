// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/install"
)

const (
	pollEvery = 100 * time.Millisecond
	remind    = 10 * time.Second
)

// step checks one step of the demo. It returns a line to print when the step is done, and
// before that what it waits for.
type step func(ctx context.Context) (done, waiting string, err error)

// errFailed ends the demo because the Shoot reports an error.
var errFailed = errors.New("the Shoot's status reports an error")

// steps are those of every Shoot.
func (d *demo) steps() []step {
	return []step{
		d.namespaceThere, d.clusterThere, d.networkThere, d.bundleThere, d.bundleApplied, d.crdsEstablished,
		d.workloadsReady, d.networkSucceeded, d.networkHealthy, d.shootSucceeded,
	}
}

// follow prints each step when it is done. It returns an error if a step takes too long, if
// the Shoot reports an error, or if the operator ends.
func (d *demo) follow(ctx context.Context, steps []step) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, s := range steps {
		if err := d.await(ctx, s); err != nil {
			return err
		}
	}
	d.say("all steps are done, %.1f s after the Shoot was applied", time.Since(d.shoot.Applied).Seconds())
	return nil
}

func (d *demo) await(ctx context.Context, s step) error {
	reminded := time.Now()
	for {
		done, waiting, err := s(ctx)
		if done != "" {
			d.say("%s", done)
			return nil
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err := d.shootError(ctx); err != nil {
			return err
		}
		if time.Since(reminded) > remind {
			reminded = time.Now()
			d.say("… still waiting for %s", waiting)
		}
		select {
		case err := <-d.operator.ended:
			return d.operatorEnded(err)
		case <-d.Done():
			return d.Stop()
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting for %s", waiting)
		case <-time.After(pollEvery):
		}
	}
}

// shootError returns errFailed if the Shoot reports an error.
func (d *demo) shootError(ctx context.Context) error {
	shoot, err := d.shoot.Current(ctx)
	if err != nil || shoot.Status.LastOperation == nil || shoot.Status.LastOperation.State != corev1beta1.LastOperationStateError {
		return nil
	}
	d.say("Shoot %s reports an error", d.shoot.Key())
	return errFailed
}

func (d *demo) namespaceThere(ctx context.Context) (string, string, error) {
	name, err := d.controlPlane(ctx)
	if err != nil || name == "" {
		return "", "the Shoot's technical ID", err
	}
	err = d.Seed.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	return unless(err, "control-plane namespace %s", name), "the namespace " + name, err
}

func (d *demo) clusterThere(ctx context.Context) (string, string, error) {
	name, err := d.controlPlane(ctx)
	if err != nil {
		return "", "", err
	}
	err = d.Seed.Get(ctx, client.ObjectKey{Name: name}, &extensionsv1alpha1.Cluster{})
	return unless(err, "Cluster %s describes the shoot", name), "the Cluster " + name, err
}

func (d *demo) networkThere(ctx context.Context) (string, string, error) {
	n, err := d.shoot.Network(ctx)
	if err != nil {
		return "", "the Network", err
	}
	return fmt.Sprintf("Network %s/%s: type %s, pods %s, Services %s",
		n.Namespace, n.Name, n.Spec.Type, n.Spec.EffectivePodCIDR(), n.Spec.ServiceCIDR), "", nil
}

func (d *demo) bundleThere(ctx context.Context) (string, string, error) {
	mr, err := d.managedResource(ctx)
	if err != nil || mr == nil {
		return "", "the network's objects to be rendered", err
	}
	return fmt.Sprintf("objects rendered into Secret %s for ManagedResource %s", mr.Spec.SecretRefs[0].Name, mr.Name), "", nil
}

func (d *demo) bundleApplied(ctx context.Context) (string, string, error) {
	mr, err := d.managedResource(ctx)
	if err != nil || mr == nil {
		return "", "the ManagedResource", err
	}
	for _, condition := range mr.Status.Conditions {
		if condition.Type == resourcesv1alpha1.ResourcesApplied && condition.Status == corev1beta1.ConditionTrue &&
			mr.Status.ObservedGeneration == mr.Generation {
			return fmt.Sprintf("%d objects applied in the shoot", len(mr.Status.Resources)), "", nil
		}
	}
	return "", "the objects to be applied in the shoot", nil
}

func (d *demo) crdsEstablished(ctx context.Context) (string, string, error) {
	established, all, err := install.Established(ctx, d.shoot.Cluster)
	if err != nil || established < all {
		return "", fmt.Sprintf("CRDs in the shoot: %d of %d established", established, all), err
	}
	return fmt.Sprintf("%d CRDs established in the shoot", all), "", nil
}

func (d *demo) workloadsReady(ctx context.Context) (string, string, error) {
	components, err := d.components(ctx)
	if err != nil {
		return "", "the network's workloads", err
	}
	done := ""
	for i, component := range components {
		ready, wanted, err := d.rollOut(ctx, component)
		if err != nil || ready < wanted || wanted == 0 {
			return "", fmt.Sprintf("%s %s: %d of %d ready", component.Kind, component.Workload, ready, wanted), err
		}
		if i > 0 {
			done += ", "
		}
		done += fmt.Sprintf("%s %s rolled out %d/%d", component.Kind, component.Workload, ready, wanted)
	}
	return done, "the network's workloads", nil
}

func (d *demo) networkSucceeded(ctx context.Context) (string, string, error) {
	n, err := d.shoot.Network(ctx)
	if err != nil || n.Status.LastOperation == nil || n.Status.LastOperation.State != corev1beta1.LastOperationStateSucceeded {
		return "", "the Network to succeed", err
	}
	return "Network: " + n.Status.LastOperation.Description, "", nil
}

func (d *demo) networkHealthy(ctx context.Context) (string, string, error) {
	n, err := d.shoot.Network(ctx)
	if err != nil {
		return "", "", err
	}
	for _, condition := range n.Status.Conditions {
		if condition.Type == "SystemComponentsHealthy" {
			if condition.Status == corev1beta1.ConditionTrue {
				return "Network is healthy: " + condition.Message, "", nil
			}
			return "", "the network to be healthy: " + condition.Message, nil
		}
	}
	return "", "the Network's health to be reported", nil
}

func (d *demo) shootSucceeded(ctx context.Context) (string, string, error) {
	shoot, err := d.shoot.Current(ctx)
	if err != nil || shoot.Status.LastOperation == nil || shoot.Status.LastOperation.State != corev1beta1.LastOperationStateSucceeded {
		return "", "the Shoot to succeed", err
	}
	return "Shoot: " + shoot.Status.LastOperation.Description, "", nil
}

func (d *demo) controlPlane(ctx context.Context) (string, error) {
	shoot, err := d.shoot.Current(ctx)
	return shoot.Status.TechnicalID, err
}

// managedResource returns the ManagedResource that the Network waits for, or nil if it does
// not exist yet.
func (d *demo) managedResource(ctx context.Context) (*resourcesv1alpha1.ManagedResource, error) {
	n, err := d.shoot.Network(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := state.Decode(n.Status.State)
	if err != nil {
		return nil, err
	}
	for _, written := range kept.Bundles {
		mr := &resourcesv1alpha1.ManagedResource{}
		if !written.Await {
			continue
		}
		err := d.Seed.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: written.Name}, mr)
		if err == nil && slices.Contains(mr.Spec.SecretRefs, corev1.LocalObjectReference{Name: written.Secret}) {
			return mr, nil
		}
		return nil, client.IgnoreNotFound(err)
	}
	return nil, nil
}

func (d *demo) components(ctx context.Context) ([]plugin.Component, error) {
	n, err := d.shoot.Network(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := state.Decode(n.Status.State)
	if err != nil {
		return nil, err
	}
	return kept.Components, nil
}

func unless(err error, format string, args ...any) string {
	if err != nil {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
