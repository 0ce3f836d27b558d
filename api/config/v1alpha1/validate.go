// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/leaderelection"
)

func (c *OperatorConfiguration) validate() field.ErrorList {
	var errs field.ErrorList
	switch c.Mode {
	case "", ModeGardener, ModeStandalone:
	default:
		errs = append(errs, field.NotSupported(field.NewPath("mode"), c.Mode, []Mode{ModeGardener, ModeStandalone}))
	}
	errs = append(errs, c.ClientConnection.validate(field.NewPath("clientConnection"))...)
	errs = append(errs, c.ShootClientConnection.validate(field.NewPath("shootClientConnection"))...)
	errs = append(errs, c.Metrics.validate(field.NewPath("metrics"))...)
	errs = append(errs, c.HealthProbes.validate(field.NewPath("healthProbes"))...)
	errs = append(errs, c.Webhooks.validate(field.NewPath("webhooks"))...)
	errs = append(errs, c.LeaderElection.validate(field.NewPath("leaderElection"))...)
	errs = append(errs, c.Heartbeat.validate(field.NewPath("heartbeat"))...)
	return append(errs, c.Controllers.validate(field.NewPath("controllers"))...)
}

func (c ClientConnection) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.QPS < 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), c.QPS, "must be positive"))
	}
	if c.Burst < 0 {
		errs = append(errs, field.Invalid(path.Child("burst"), c.Burst, "must be positive"))
	}
	return errs
}

func (c ShootClientConnection) validate(path *field.Path) field.ErrorList {
	errs := c.ClientConnection.validate(path)
	for i, each := range c.AllowedAddresses {
		if _, err := netip.ParsePrefix(each); err != nil {
			errs = append(errs, field.Invalid(path.Child("allowedAddresses").Index(i), each, "must be a range such as 127.0.0.0/8 or fd00::/8"))
		}
	}
	return errs
}

func (e Endpoint) validate(path *field.Path) field.ErrorList {
	if _, _, err := net.SplitHostPort(e.BindAddress); err != nil && e.BindAddress != "0" {
		return field.ErrorList{field.Invalid(path.Child("bindAddress"), e.BindAddress, `must be host:port, :port, or "0" to serve nothing`)}
	}
	return nil
}

// validate accepts what API servers accept as the address of a webhook.
func (w Webhooks) validate(path *field.Path) field.ErrorList {
	errs := Endpoint{w.BindAddress}.validate(path)
	if _, port, err := net.SplitHostPort(w.BindAddress); err == nil {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			errs = append(errs, field.Invalid(path.Child("bindAddress"), w.BindAddress, "must end with a port between 1 and 65535"))
		}
	}
	if w.URL != "" && w.ServiceName != "" {
		errs = append(errs, field.Forbidden(path.Child("serviceName"), "url states how API servers reach the webhooks; remove one of them"))
	}
	if w.URL != "" && !isWebhookURL(w.URL) {
		errs = append(errs, field.Invalid(path.Child("url"), w.URL, "must be an address such as https://trellis.example.com:10250, without user, query and fragment"))
	}
	for _, each := range []struct{ name, value string }{{"serviceName", w.ServiceName}, {"namespace", w.Namespace}} {
		if problems := validation.IsDNS1123Label(each.value); each.value != "" && len(problems) > 0 {
			errs = append(errs, field.Invalid(path.Child(each.name), each.value, problems[0]))
		}
	}
	for _, problem := range validation.IsDNS1123Subdomain(cmp.Or(w.SecretName, "default")) {
		errs = append(errs, field.Invalid(path.Child("secretName"), w.SecretName, problem))
	}
	return errs
}

func isWebhookURL(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.Scheme == "https" && parsed.Hostname() != "" && parsed.User == nil &&
		parsed.RawQuery == "" && !parsed.ForceQuery && parsed.Fragment == "" && !strings.HasSuffix(address, "#")
}

// validate checks what client-go's elections require: a leader must stop before another
// replica becomes the leader.
func (l LeaderElection) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if l.LeaseDuration.Duration <= l.RenewDeadline.Duration {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), l.LeaseDuration.Duration.String(), "must be longer than renewDeadline, "+l.RenewDeadline.Duration.String()))
	}
	if shortest := leaderelection.JitterFactor * float64(l.RetryPeriod.Duration); float64(l.RenewDeadline.Duration) <= shortest {
		errs = append(errs, field.Invalid(path.Child("renewDeadline"), l.RenewDeadline.Duration.String(), "must be longer than 1.2 times retryPeriod, "+l.RetryPeriod.Duration.String()))
	}
	if l.RetryPeriod.Duration < 0 {
		errs = append(errs, field.Invalid(path.Child("retryPeriod"), l.RetryPeriod.Duration.String(), "must be positive"))
	}
	return errs
}

func (h Heartbeat) validate(path *field.Path) field.ErrorList {
	if h.RenewInterval.Duration < time.Second {
		return field.ErrorList{field.Invalid(path.Child("renewInterval"), h.RenewInterval.Duration.String(), "must be a second at least, the unit of a Lease")}
	}
	return nil
}

func (c Controllers) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, each := range []struct {
		name       string
		controller Controller
	}{
		{"shoot", c.Shoot}, {"network", c.Network.Controller}, {"managedResource", c.ManagedResource}, {"health", c.Health.Controller},
	} {
		path := path.Child(each.name)
		if each.controller.ConcurrentSyncs < 0 {
			errs = append(errs, field.Invalid(path.Child("concurrentSyncs"), each.controller.ConcurrentSyncs, "must be positive"))
		}
		if each.controller.SyncPeriod.Duration < 0 {
			errs = append(errs, field.Invalid(path.Child("syncPeriod"), each.controller.SyncPeriod.Duration.String(), "must be positive"))
		}
	}
	if timeout := c.Network.ReconciliationTimeout.Duration; timeout < 0 {
		errs = append(errs, field.Invalid(path.Child("network", "reconciliationTimeout"), timeout.String(), "must be positive"))
	}
	if threshold := c.Health.ProgressingThreshold.Duration; threshold < 0 {
		errs = append(errs, field.Invalid(path.Child("health", "progressingThreshold"), threshold.String(), "must be positive"))
	}
	return errs
}
