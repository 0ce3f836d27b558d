// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/fielderror"
)

// Definition is what the author of a plugin writes, for their config type C: a
// struct with JSON tags that embeds metav1.TypeMeta inline.
//
// The methods are called in the order in which they stand here.
type Definition[C any] interface {
	// Describe returns what the plugin is, always the same.
	Describe() Description

	// Validate judges the config as the user wrote it, before any default: enums,
	// ranges, combinations. Paths in findings begin with path. It must not fail
	// on what the user left out, and must not change the config. Errors of the
	// Network itself are reported beside its findings, so IP ranges and families
	// among the facts may be malformed.
	Validate(written *C, in *Input, path *field.Path) Findings

	// Default makes the config what is in force: it fills in what the user left
	// out, and it replaces what a rule or the infrastructure does not allow. Each
	// value that differs from what the user wrote and is not a plain default is
	// explained in origins. Default is idempotent.
	Default(config *C, in *Input, origins *Origins)

	// ValidateEffective judges what is in force, together with the facts: what
	// only shows once all defaults are known. That a value of written, the user's
	// config, is not in force, users are told anyway, with the reason that Default
	// gave.
	ValidateEffective(effective, written *C, in *Input, path *field.Path) Findings

	// Classify returns what a change means for a running network, and why, in one
	// sentence without a period. An empty class means, for a value of the config, that
	// the plugin does not know it, so that the change counts as disruptive; for a fact,
	// that it makes no difference to this network, or none that a value of the config
	// does not show already. The pipeline alone decides which IP families may follow
	// which.
	Classify(change Change[C]) (ChangeClass, string)

	// Render returns the objects of the network. It is only called with a config
	// without findings that are errors. An error means a defect of the plugin.
	Render(effective *C, in *Input) (Objects, error)
}

// Description is what a plugin states of itself.
type Description struct {
	// Type is the value of Network.spec.type that the plugin answers to.
	Type string
	// ConfigVersions are the group versions in which kind NetworkConfig is
	// accepted. The first is what the effective config and the status are written
	// in; a config without apiVersion is taken as being of the first.
	ConfigVersions []schema.GroupVersion
	// Origin is the value of the label "origin" of the network's ManagedResources.
	Origin string
	// Adopts are the bundles, without their objects, in which Gardener's own extension for
	// this type keeps a network. Trellis takes them over: those whose names the bundles of
	// the network have are written, and the others are deleted.
	Adopts []Bundle
	// IPFamilies states which combinations of IP families the plugin can serve.
	IPFamilies IPFamilySupport
	// FeatureGates are all gates that the plugin looks at. Others are refused.
	FeatureGates []FeatureGate
	// Images are those that the operator may replace, by their names. Others are refused.
	Images Images
	// Changes are all that changes can mean: those that Classify returns, by path. An
	// entry for a block is for all values in it that have none of their own.
	Changes map[string][]PossibleChange
	// ConfigSchema is the JSON schema of the config, as hack/schema makes it of the
	// Go type; empty if the plugin has none. explain shows it to users.
	ConfigSchema []byte
}

// IPFamilySupport states which combinations of IP families a plugin can serve.
type IPFamilySupport struct {
	IPv4, IPv6, DualStack bool
}

// Supports reports whether the plugin can serve these families; none means IPv4.
func (s IPFamilySupport) Supports(families []extensionsv1alpha1.IPFamily) bool {
	switch {
	case len(families) > 1:
		return s.DualStack
	case len(families) == 1 && families[0] == extensionsv1alpha1.IPv6:
		return s.IPv6
	default:
		return s.IPv4
	}
}

// String lists what is supported, for error messages.
func (s IPFamilySupport) String() string {
	var list []string
	for _, each := range []struct {
		supported bool
		families  string
	}{{s.IPv4, "[IPv4]"}, {s.IPv6, "[IPv6]"}, {s.DualStack, "both families together"}} {
		if each.supported {
			list = append(list, each.families)
		}
	}
	return strings.Join(list, ", ")
}

// Object is a typed or unstructured Kubernetes object. Its apiVersion and kind
// must be set.
type Object interface {
	metav1.Object
	runtime.Object
}

// Component is a workload in the shoot whose health is reported.
type Component struct {
	// Name is the key under providerStatus.components, for example nodes.
	Name string `json:"name"`
	// Kind is DaemonSet or Deployment.
	Kind string `json:"kind"`
	// Workload is the name of the DaemonSet or Deployment.
	Workload string `json:"workload"`
	// Namespace of the workload, kube-system: Trellis sees no workloads elsewhere in a
	// Gardener landscape.
	Namespace string `json:"namespace"`
}

// Findings are what is wrong with a config, and what its author should know.
type Findings struct {
	// Errors make the config unusable.
	Errors field.ErrorList
	// Warnings do not.
	Warnings []Warning
	// Extents are those of the errors of ErrorBy.
	Extents map[*field.Error]Extent
}

// Extent states how far a rule is broken, so that a user who mends a part of what is wrong with a
// running network is not refused.
type Extent struct {
	// Rule tells the rule apart from the others that the field of its error can break.
	Rule string
	// By is how much is missing, or too much, in any unit.
	By int64
}

// Warning tells the author of a config something that does not make it
// unusable: a setting without effect, or a value that is not in force.
type Warning = extensionsv1alpha1.NetworkWarning

// Error adds an error. It shows the beginning of a value that is long.
func (f *Findings) Error(err *field.Error) {
	short := *err
	short.BadValue = fielderror.Brief(err.BadValue)
	f.Errors = append(f.Errors, &short)
}

// ErrorBy adds the error of a rule that can be broken to a greater or lesser extent. The error only
// warns if the network broke the rule before, as far or farther.
func (f *Findings) ErrorBy(extent Extent, err *field.Error) {
	f.Error(err)
	f.measure(f.Errors[len(f.Errors)-1], extent)
}

func (f *Findings) measure(err *field.Error, extent Extent) {
	if f.Extents == nil {
		f.Extents = map[*field.Error]Extent{}
	}
	f.Extents[err] = extent
}

// Warn adds a warning.
func (f *Findings) Warn(path *field.Path, message string) {
	f.Warnings = append(f.Warnings, Warning{Field: path.String(), Message: message})
}

// Add adds all findings of others.
func (f *Findings) Add(others Findings) {
	f.Errors = append(f.Errors, others.Errors...)
	f.Warnings = append(f.Warnings, others.Warnings...)
	for err, extent := range others.Extents {
		f.measure(err, extent)
	}
}

// ChangeClass states what a change means for a running network.
type ChangeClass string

const (
	// Safe changes restart nothing that carries traffic.
	Safe ChangeClass = "safe"
	// Rolling changes restart the network's workloads node after node; traffic of
	// running pods goes on.
	Rolling ChangeClass = "rolling"
	// Disruptive changes interrupt traffic.
	Disruptive ChangeClass = "disruptive"
	// Forbidden changes would break the network; they are refused.
	Forbidden ChangeClass = "forbidden"
)
