// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Load reads a configuration file, completes it with defaults and checks it. An
// empty document gives the defaults. Unknown fields are errors.
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
	for _, controller := range []*Controller{&c.Controllers.Shoot, &c.Controllers.Network, &c.Controllers.ManagedResource, &c.Controllers.Health} {
		controller.ConcurrentSyncs = cmp.Or(controller.ConcurrentSyncs, 5)
	}
	managed, health := &c.Controllers.ManagedResource.SyncPeriod, &c.Controllers.Health.SyncPeriod
	managed.Duration = cmp.Or(managed.Duration, time.Minute)
	health.Duration = cmp.Or(health.Duration, 30*time.Second)
}

func (c *ClientConnection) setDefaults(qps float32, burst int) {
	c.QPS, c.Burst = cmp.Or(c.QPS, qps), cmp.Or(c.Burst, burst)
}

func (c *OperatorConfiguration) validate() field.ErrorList {
	var errs field.ErrorList
	switch c.Mode {
	case "", ModeGardener, ModeStandalone:
	default:
		errs = append(errs, field.NotSupported(field.NewPath("mode"), c.Mode, []Mode{ModeGardener, ModeStandalone}))
	}
	for _, each := range []struct {
		name       string
		connection ClientConnection
	}{{"clientConnection", c.ClientConnection}, {"shootClientConnection", c.ShootClientConnection}} {
		if each.connection.QPS < 0 {
			errs = append(errs, field.Invalid(field.NewPath(each.name, "qps"), each.connection.QPS, "must be positive"))
		}
		if each.connection.Burst < 0 {
			errs = append(errs, field.Invalid(field.NewPath(each.name, "burst"), each.connection.Burst, "must be positive"))
		}
	}
	for _, each := range []struct {
		name    string
		address string
	}{{"metrics", c.Metrics.BindAddress}, {"healthProbes", c.HealthProbes.BindAddress}} {
		if _, _, err := net.SplitHostPort(each.address); err != nil && each.address != "0" {
			errs = append(errs, field.Invalid(field.NewPath(each.name, "bindAddress"), each.address, `must be host:port, :port, or "0" to serve nothing`))
		}
	}
	for _, each := range []struct {
		name       string
		controller Controller
	}{{"shoot", c.Controllers.Shoot}, {"network", c.Controllers.Network}, {"managedResource", c.Controllers.ManagedResource}, {"health", c.Controllers.Health}} {
		path := field.NewPath("controllers", each.name)
		if each.controller.ConcurrentSyncs < 0 {
			errs = append(errs, field.Invalid(path.Child("concurrentSyncs"), each.controller.ConcurrentSyncs, "must be positive"))
		}
		if each.controller.SyncPeriod.Duration < 0 {
			errs = append(errs, field.Invalid(path.Child("syncPeriod"), each.controller.SyncPeriod.String(), "must be positive"))
		}
	}
	return errs
}
