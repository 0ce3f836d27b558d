// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Load decodes a configuration file, sets defaults and validates it. An empty document
// gives the defaults. Unknown fields are errors.
func Load(document []byte) (*OperatorConfiguration, error) {
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

func (c *OperatorConfiguration) setDefaults() {
	c.APIVersion, c.Kind = GroupVersion.String(), OperatorConfigurationKind
	c.ClientConnection.setDefaults(100, 130)
	c.ShootClientConnection.setDefaults(50, 100)
	c.Metrics.BindAddress = cmp.Or(c.Metrics.BindAddress, ":8080")
	c.HealthProbes.BindAddress = cmp.Or(c.HealthProbes.BindAddress, ":8081")
	c.Webhooks.BindAddress = cmp.Or(c.Webhooks.BindAddress, ":10250")
	c.LeaderElection.setDefaults()
	c.Heartbeat.RenewInterval.Duration = cmp.Or(c.Heartbeat.RenewInterval.Duration, 30*time.Second)
	c.Heartbeat.ExtensionName = cmp.Or(c.Heartbeat.ExtensionName, "trellis")
	c.Controllers.setDefaults()
}

func (c *Controllers) setDefaults() {
	// The controllers that connect to shoots have more workers, since some of them wait for
	// shoots that do not answer.
	for controller, defaults := range map[*Controller]Controller{
		&c.Shoot:              {ConcurrentSyncs: 5},
		&c.Network.Controller: {ConcurrentSyncs: 5},
		&c.ManagedResource:    {20, metav1.Duration{Duration: time.Minute}},
		&c.Health.Controller:  {10, metav1.Duration{Duration: 30 * time.Second}},
	} {
		controller.ConcurrentSyncs = cmp.Or(controller.ConcurrentSyncs, defaults.ConcurrentSyncs)
		controller.SyncPeriod = cmp.Or(controller.SyncPeriod, defaults.SyncPeriod)
	}
	timeout := &c.Network.ReconciliationTimeout
	timeout.Duration = cmp.Or(timeout.Duration, 3*time.Minute)
	threshold := &c.Health.ProgressingThreshold
	threshold.Duration = cmp.Or(threshold.Duration, 5*time.Minute)
}

func (c *ClientConnection) setDefaults(qps float32, burst int) {
	c.QPS, c.Burst = cmp.Or(c.QPS, qps), cmp.Or(c.Burst, burst)
}

func (l *LeaderElection) setDefaults() {
	l.LeaseDuration.Duration = cmp.Or(l.LeaseDuration.Duration, 15*time.Second)
	l.RenewDeadline.Duration = cmp.Or(l.RenewDeadline.Duration, 10*time.Second)
	l.RetryPeriod.Duration = cmp.Or(l.RetryPeriod.Duration, 2*time.Second)
}
