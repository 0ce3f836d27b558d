// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/util/jsonpath"
)

func (c *OperatorConfiguration) validate() field.ErrorList {
	var errs field.ErrorList
	switch c.Mode {
	case "", ModeGardener, ModeStandalone:
	default:
		errs = append(errs, field.NotSupported(field.NewPath("mode"), c.Mode, []Mode{ModeGardener, ModeStandalone}))
	}
	return slices.Concat(errs,
		c.ClientConnection.validate(field.NewPath("clientConnection")),
		c.ShootClientConnection.validate(field.NewPath("shootClientConnection")),
		c.Metrics.validate(field.NewPath("metrics")),
		c.HealthProbes.validate(field.NewPath("healthProbes")),
		c.Webhooks.validate(field.NewPath("webhooks")),
		c.LeaderElection.validate(field.NewPath("leaderElection")),
		c.Heartbeat.validate(field.NewPath("heartbeat")),
		c.ConnectivityProbe.validate(field.NewPath("connectivityProbe")),
		c.validateInfrastructures(field.NewPath("infrastructures")),
		c.ControlPlane.validate(field.NewPath("controlPlane"), c.Webhooks),
		c.validatePodRoutes(field.NewPath("podRoutes")),
		c.Debugging.validate(field.NewPath("debugging"), c.Metrics),
		c.Controllers.validate(field.NewPath("controllers")))
}

// positive returns an error if a setting is negative. What is left out has its default.
func positive(path *field.Path, value any, negative bool) field.ErrorList {
	if !negative {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "must be positive")}
}

func positiveDuration(path *field.Path, value metav1.Duration) field.ErrorList {
	return positive(path, value, value.Duration < 0)
}

func (c ClientConnection) validate(path *field.Path) field.ErrorList {
	return append(positive(path.Child("qps"), c.QPS, c.QPS < 0), positive(path.Child("burst"), c.Burst, c.Burst < 0)...)
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

func (p ConnectivityProbe) validate(path *field.Path) field.ErrorList {
	if p.OutsideTarget == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(p.OutsideTarget)
	if number, isNumber := strconv.ParseUint(port, 10, 16); err != nil || host == "" || isNumber != nil || number == 0 {
		return field.ErrorList{field.Invalid(path.Child("outsideTarget"), p.OutsideTarget, "must be host:port, such as example.com:443")}
	}
	return nil
}

func (c *OperatorConfiguration) validateInfrastructures(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(c.Infrastructures) > 0 && c.Mode == ModeGardener {
		errs = append(errs, field.Forbidden(path, "in a landscape the gardenlet writes Infrastructures and ControlPlanes"))
	}
	for i, each := range c.Infrastructures {
		for _, problem := range validation.IsDNS1123Label(each) {
			errs = append(errs, field.Invalid(path.Index(i), each, problem))
		}
	}
	return errs
}

func (c *OperatorConfiguration) validatePodRoutes(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, each := range c.PodRoutes {
		path := path.Index(i)
		if problems := validation.IsDNS1123Label(each.Provider); len(problems) > 0 {
			errs = append(errs, field.Invalid(path.Child("provider"), each.Provider, problems[0]))
		}
		if seen[each.Provider] {
			errs = append(errs, field.Duplicate(path.Child("provider"), each.Provider))
		}
		seen[each.Provider] = true
		errs = append(errs, positive(path.Child("maxRoutesPerTable"), each.MaxRoutesPerTable, each.MaxRoutesPerTable < 0)...)
	}
	return errs
}

func (d Debugging) validate(path *field.Path, metrics Endpoint) field.ErrorList {
	if !d.EnableProfiling || metrics.BindAddress != "0" {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Child("enableProfiling"), "profiles are served on metrics.bindAddress, which is \"0\": set an address such as :8080")}
}

// maxCloudConfig is how many bytes a cloud config may have, far less than a ConfigMap.
const maxCloudConfig = 256 << 10

func (c ControlPlane) validate(path *field.Path, webhooks Webhooks) field.ErrorList {
	var errs field.ErrorList
	if len(c.KubeControllerManager) > 0 && !webhooks.served() {
		errs = append(errs, field.Forbidden(path.Child("kubeControllerManager"), needsWebhooks))
	}
	seen := map[string]bool{}
	for i, each := range c.KubeControllerManager {
		path := path.Child("kubeControllerManager").Index(i)
		if each.Provider == "" {
			errs = append(errs, field.Required(path.Child("provider"), "must be the type of an infrastructure, as in spec.provider.type of Shoots"))
		}
		if seen[each.Provider] {
			errs = append(errs, field.Duplicate(path.Child("provider"), each.Provider))
		}
		seen[each.Provider] = true
		for _, name := range []struct{ field, value string }{{"provider", each.Provider}, {"externalCloudVolumePlugin", each.ExternalCloudVolumePlugin}} {
			if problems := validation.IsDNS1123Label(name.value); name.value != "" && len(problems) > 0 {
				errs = append(errs, field.Invalid(path.Child(name.field), name.value, problems[0]))
			}
		}
		errs = append(errs, each.validateCloudConfig(path)...)
	}
	return errs
}

func (k KubeControllerManager) validateCloudConfig(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, text := range []struct{ field, value string }{{"cloudConfig", k.CloudConfig}, {"cloudConfigTemplate", k.CloudConfigTemplate}} {
		if len(text.value) > maxCloudConfig {
			errs = append(errs, field.TooLong(path.Child(text.field), "", maxCloudConfig))
		}
	}
	if k.CloudConfig != "" && k.CloudConfigTemplate != "" {
		errs = append(errs, field.Forbidden(path.Child("cloudConfigTemplate"), "cloudConfig states the content; remove one of them"))
	}
	if err := jsonpath.New("cloudConfigTemplate").Parse(k.CloudConfigTemplate); err != nil {
		errs = append(errs, field.Invalid(path.Child("cloudConfigTemplate"), k.CloudConfigTemplate, err.Error()))
	}
	return errs
}

// validate accepts what API servers accept as the address of a webhook.
func (w Webhooks) validate(path *field.Path) field.ErrorList {
	errs := Endpoint{w.BindAddress}.validate(path)
	if _, port, err := net.SplitHostPort(w.BindAddress); err == nil {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			errs = append(errs, field.Invalid(path.Child("bindAddress"), w.BindAddress, "must end with a port between 1 and 65535"))
		}
	}
	if w.Networks && !w.served() {
		errs = append(errs, field.Forbidden(path.Child("networks"), needsWebhooks))
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

const needsWebhooks = "the seed's API server calls a webhook of the operator for it; set webhooks.serviceName or webhooks.url, and webhooks.bindAddress"

// served reports whether the operator serves webhooks that the seed's API server reaches.
func (w Webhooks) served() bool { return (w.URL != "" || w.ServiceName != "") && w.BindAddress != "0" }

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
	return append(errs, positiveDuration(path.Child("retryPeriod"), l.RetryPeriod)...)
}

func (h Heartbeat) validate(path *field.Path) field.ErrorList {
	if h.RenewInterval.Duration < time.Second {
		return field.ErrorList{field.Invalid(path.Child("renewInterval"), h.RenewInterval.Duration.String(), "must be a second at least, the unit of a Lease")}
	}
	return nil
}

func (c Controllers) validate(path *field.Path) field.ErrorList {
	return slices.Concat(
		c.Shoot.validate(path.Child("shoot")),
		c.Network.Controller.validate(path.Child("network")),
		c.ManagedResource.validate(path.Child("managedResource")),
		c.Health.Controller.validate(path.Child("health")),
		c.PodRoutes.validate(path.Child("podRoutes")),
		positiveDuration(path.Child("network", "reconciliationTimeout"), c.Network.ReconciliationTimeout),
		c.Network.RolloutStrategy.validate(path.Child("network", "rolloutStrategy")),
		positiveDuration(path.Child("health", "progressingThreshold"), c.Health.ProgressingThreshold))
}

func (c Controller) validate(path *field.Path) field.ErrorList {
	return append(positive(path.Child("concurrentSyncs"), c.ConcurrentSyncs, c.ConcurrentSyncs < 0),
		positiveDuration(path.Child("syncPeriod"), c.SyncPeriod)...)
}

func (s *RolloutStrategy) validate(path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	errs := slices.Concat(
		validateShare(path.Child("maxConcurrency"), *s.MaxConcurrency, 1),
		validateShare(path.Child("maxFailures"), *s.MaxFailures, 0),
		positiveDuration(path.Child("minSuccessTime"), s.MinSuccessTime))
	if s.ProgressDeadline.Duration <= s.MinSuccessTime.Duration {
		errs = append(errs, field.Invalid(path.Child("progressDeadline"), s.ProgressDeadline.Duration.String(), "must be longer than minSuccessTime, "+s.MinSuccessTime.Duration.String()))
	}
	return append(errs, metav1validation.ValidateLabels(s.CanaryLabels, path.Child("canaryLabels"))...)
}

// validateShare accepts a number of at least least, and a part of all in per cent.
func validateShare(path *field.Path, value intstr.IntOrString, least int) field.ErrorList {
	number, err := intstr.GetScaledValueFromIntOrPercent(&value, 100, true)
	if err != nil || number < least || value.Type == intstr.String && number > 100 {
		return field.ErrorList{field.Invalid(path, value.String(), fmt.Sprintf("must be a number from %d on, or a part such as 10%% up to 100%%", least))}
	}
	return nil
}
