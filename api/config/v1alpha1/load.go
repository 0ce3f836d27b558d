// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Load decodes a configuration file, sets defaults and validates it. An empty document
// gives the defaults. Unknown fields are errors.
func Load(document []byte) (*OperatorConfiguration, error) {
	if err := refuseExtensions(document); err != nil {
		return nil, err
	}
	c := &OperatorConfiguration{}
	if err := yaml.UnmarshalStrict(document, c); err != nil {
		return nil, fmt.Errorf("the configuration cannot be decoded: %w", err)
	}
	var errs field.ErrorList
	if c.APIVersion != "" && c.APIVersion != GroupVersion.String() {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), c.APIVersion, []string{GroupVersion.String()}))
	}
	if c.Kind != "" && c.Kind != OperatorConfigurationKind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), c.Kind, []string{OperatorConfigurationKind}))
	}
	c.setDefaults()
	if errs = append(errs, c.validate()...); len(errs) > 0 {
		return nil, fmt.Errorf("the configuration is invalid: %w", errs.ToAggregate())
	}
	return c, nil
}

// refuseExtensions refuses the configuration of a Gardener extension: a ControllerConfiguration of a
// group like example.networking.extensions.config.gardener.cloud.
func refuseExtensions(document []byte) error {
	var found metav1.TypeMeta
	if err := yaml.Unmarshal(document, &found); err != nil {
		return nil // Load says why
	}
	if found.Kind != "ControllerConfiguration" && !strings.HasSuffix(found.GroupVersionKind().Group, ".config.gardener.cloud") {
		return nil
	}
	return fmt.Errorf("this is the configuration of a Gardener extension (%s, kind %s): write apiVersion %s and kind %s; "+
		"qps and burst of clientConnection and the featureGates mean the same here, and no other field is needed",
		found.APIVersion, found.Kind, GroupVersion, OperatorConfigurationKind)
}

func (c *OperatorConfiguration) setDefaults() {
	c.APIVersion, c.Kind = GroupVersion.String(), OperatorConfigurationKind
	setDefault(&c.ClientConnection.QPS, 100)
	setDefault(&c.ClientConnection.Burst, 130)
	setDefault(&c.ShootClientConnection.QPS, 50)
	setDefault(&c.ShootClientConnection.Burst, 100)
	setDefault(&c.Metrics.BindAddress, ":8080")
	setDefault(&c.HealthProbes.BindAddress, ":8081")
	setDefault(&c.Webhooks.BindAddress, ":10250")
	setDefault(&c.LeaderElection.LeaseDuration.Duration, 15*time.Second)
	setDefault(&c.LeaderElection.RenewDeadline.Duration, 10*time.Second)
	setDefault(&c.LeaderElection.RetryPeriod.Duration, 2*time.Second)
	setDefault(&c.Heartbeat.RenewInterval.Duration, 30*time.Second)
	setDefault(&c.Heartbeat.ExtensionName, "trellis")
	setDefault(&c.Controllers.Shoot.ConcurrentSyncs, 5)
	setDefault(&c.Controllers.Network.ConcurrentSyncs, 5)
	setDefault(&c.Controllers.Network.ReconciliationTimeout.Duration, 3*time.Minute)
	if s := c.Controllers.Network.RolloutStrategy; s != nil {
		setDefault(&s.MaxConcurrency, new(intstr.FromString("10%")))
		setDefault(&s.MinSuccessTime.Duration, 10*time.Minute)
		setDefault(&s.ProgressDeadline.Duration, time.Hour)
		setDefault(&s.MaxFailures, new(intstr.FromString("1%")))
	}
	// The controllers that connect to shoots have more workers, since some of them wait for
	// shoots that do not answer.
	setDefault(&c.Controllers.ManagedResource.ConcurrentSyncs, 20)
	setDefault(&c.Controllers.ManagedResource.SyncPeriod.Duration, time.Minute)
	setDefault(&c.Controllers.PodRoutes.ConcurrentSyncs, 10)
	setDefault(&c.Controllers.PodRoutes.SyncPeriod.Duration, time.Minute)
	setDefault(&c.Controllers.Health.ConcurrentSyncs, 10)
	setDefault(&c.Controllers.Health.SyncPeriod.Duration, 30*time.Second)
	setDefault(&c.Controllers.Health.ProgressingThreshold.Duration, 5*time.Minute)
}

// setDefault sets a setting that the file leaves out.
func setDefault[T comparable](setting *T, value T) { *setting = cmp.Or(*setting, value) }
