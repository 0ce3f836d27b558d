// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"net"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// autoDetectionMethods are Calico's ways for a node to find its own address, in
// the order in which errors list them.
var autoDetectionMethods = []struct {
	name, parameter string
	isValid         func(parameter string) bool
	wanted          string
}{
	{name: "first-found"},
	{name: "kubernetes-internal-ip"},
	{"can-reach", "HOST", isHost, "an IP address or a DNS name"},
	{"interface", "REGEX", isRegexp, "a regular expression that compiles, of at most 4096 bytes"},
	{"skip-interface", "REGEX", isRegexp, "a regular expression that compiles, of at most 4096 bytes"},
	{"cidr", "RANGE", isCIDR, "one IP range such as 10.250.0.0/16"},
}

// validateAutoDetection refuses a method that Calico does not understand.
func validateAutoDetection(found *plugin.Findings, path *field.Path, method string) {
	name, parameter, hasParameter := strings.Cut(method, "=")
	known := make([]string, 0, len(autoDetectionMethods))
	for _, each := range autoDetectionMethods {
		if each.name != name {
			known = append(known, usage(each.name, each.parameter))
			continue
		}
		switch {
		case each.isValid == nil && hasParameter:
			found.Error(field.Invalid(path, method, name+" takes no parameter"))
		case each.isValid != nil && (parameter == "" || !each.isValid(parameter)):
			found.Error(field.Invalid(path, method, "must be "+name+"="+each.parameter+", with "+each.wanted))
		}
		return
	}
	found.Error(field.Invalid(path, method, "must be one of "+strings.Join(known, ", ")))
}

func usage(name, parameter string) string {
	if parameter == "" {
		return name
	}
	return name + "=" + parameter
}

func isHost(s string) bool {
	return net.ParseIP(s) != nil || len(validation.IsDNS1123Subdomain(s)) == 0
}

// longestRegexp is more than enough to match names of interfaces, and still cheap to compile.
const longestRegexp = 4096

func isRegexp(s string) bool {
	if len(s) > longestRegexp {
		return false
	}
	_, err := regexp.Compile(s)
	return err == nil
}

func isCIDR(s string) bool {
	_, _, err := net.ParseCIDR(s)
	return err == nil
}
