// SPDX-License-Identifier: Apache-2.0

// Package pipeline turns a Request, with the wanted network and the known facts, into a
// Result: the effective config with its origins, errors and warnings, changes, and the
// objects of the network. The command line and the operator both call Build, so that they
// agree. It knows no plugin and no infrastructure by name, and not how objects get into a
// cluster.
//
// Build is pure: no client, clock, randomness or global state. The same Request gives the
// same Result, to the byte. Any number of goroutines may call it.
package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
)

// Pipeline builds Results with a set of plugins and providers.
type Pipeline struct {
	plugins   map[string]plugin.Plugin
	providers map[string]plugin.Provider
}

// New makes a Pipeline. Two plugins, or two providers, of one type are an error.
func New(plugins []plugin.Plugin, providers []plugin.Provider) (*Pipeline, error) {
	p := &Pipeline{plugins: map[string]plugin.Plugin{}, providers: map[string]plugin.Provider{}}
	for _, one := range plugins {
		if _, twice := p.plugins[one.Type]; twice {
			return nil, fmt.Errorf("two plugins answer to the network type %q", one.Type)
		}
		p.plugins[one.Type] = one
	}
	for _, one := range providers {
		if _, twice := p.providers[one.Type()]; twice {
			return nil, fmt.Errorf("two providers answer to the infrastructure type %q", one.Type())
		}
		p.providers[one.Type()] = one
	}
	return p, nil
}

// Types returns the network types that have a plugin, sorted.
func (p *Pipeline) Types() []string { return slices.Sorted(maps.Keys(p.plugins)) }

// Plugin returns the plugin for a network type.
func (p *Pipeline) Plugin(networkType string) (plugin.Plugin, bool) {
	found, ok := p.plugins[networkType]
	return found, ok
}

// Result is what Build makes of a Request.
type Result struct {
	// Errors are the reasons why there are no objects. With errors, all fields below but
	// Warnings may be incomplete and must not be applied.
	Errors field.ErrorList
	// Warnings are what the user should know.
	Warnings []plugin.Warning

	// Config is the effective config, every default explicit, in the plugin's first version.
	Config json.RawMessage
	// Values are those of Config, by path, for example overlay.enabled.
	Values map[string]any `json:"-"`
	// Origins are where they come from, by path.
	Origins map[string]plugin.Origin
	// DataPath is how packets between pods on different nodes travel, and who makes the routes, in
	// one line; empty if the plugin does not tell.
	DataPath string
	// Changes are the differences between Config and what was applied last.
	Changes []Change
	// Transition is how the changes are made in steps; nil if they are made at once.
	Transition *Transition
	// AwaitsRoutes reports that the network comes to rely on routes that the operator has been asked to
	// make. It must not be written before all nodes have theirs.
	AwaitsRoutes bool
	// NotInSteps is why the changes are made at once although the plugin has steps for them; nil
	// otherwise. It is for authors of plugins.
	NotInSteps *Obstacle `json:"-"`
	// IPFamilies are the families that the objects are for.
	IPFamilies []extensionsv1alpha1.IPFamily
	// Decisions are what Build decided beside the config.
	Decisions plugin.Decisions
	// Objects are the network's objects.
	Objects plugin.Objects
	// Exchange is set if the objects are those of networks of two types.
	Exchange *Exchange `json:"-"`
	// Precondition is what the shoot's nodes must fulfil before Objects are written, or nil.
	Precondition *plugin.Precondition `json:"-"`

	accepted *Accepted
	// lacks is what users may expect of the network and it does not have: see plugin.DataPath.
	lacks string
	// compared reports that Changes and Errors have all that differs from what was applied last.
	compared bool
}

// Build runs the stages up to one that finds errors, since the next relies on a valid input.
// The first finds all errors in the spec as it is written, in the Network and in the config.
func (p *Pipeline) Build(request Request) Result {
	b := p.begin(&request)
	return b.run(b.checkWritten, b.applyDefaults, b.validateEffective, b.compare, b.planSteps, b.render)
}

// check is Build without the objects.
func (p *Pipeline) check(request Request) Result {
	b := p.begin(&request)
	return b.run(b.checkWritten, b.applyDefaults, b.validateEffective, b.compare, b.planSteps)
}

func (b *build) run(stages ...func() error) Result {
	b.readApplied()
	for _, stage := range stages {
		err := plugin.Guard(b.request.Spec.Type, stage)
		b.Errors = b.applyRatcheting(b.Errors)
		if err != nil {
			b.result.Objects = plugin.Objects{}
			b.Error(field.InternalError(b.paths.config, err))
		}
		if len(b.Errors) > 0 {
			break
		}
	}
	b.result.Errors, b.result.Warnings = b.Errors, b.Warnings
	b.result.accepted = b.request.Accepted()
	b.result.accepted.Facts, b.result.accepted.Decisions = b.in.Facts, b.in.Decisions
	b.result.Decisions = b.in.Decisions
	return b.result
}

func (p *Pipeline) begin(request *Request) *build {
	return &build{
		pipeline: p, request: request, last: request.Applied, paths: pathsOf(request),
		in: plugin.Input{Facts: request.Facts, Environment: request.Environment},
	}
}

// build is one Build under way, with what it has found.
type build struct {
	plugin.Findings
	pipeline *Pipeline
	request  *Request
	// last is what was applied last; nil if there is nothing, or it cannot be read.
	last  *Applied
	paths paths
	// in has the Request's facts and environment. Build completes the facts, and decides.
	in plugin.Input

	plugin  plugin.Plugin
	written any // the config as the spec has it
	user    any // the config as the user wrote it
	config  any // the effective config
	result  Result

	// Values by path: of the user's config, of the one in the spec, of the one applied last.
	byUser, inSpec, applied map[string]any
	// noted are the origins that the plugin's defaults state.
	noted map[string]plugin.Origin

	// target are the values of what the spec asks for, also at a step on the way there.
	target map[string]any

	// known are today's errors of what was applied last that forgive none yet; nil until
	// applyRatcheting needs them.
	known *wrongs
	// thorough has a config validated that has parts that cannot be decoded, as if they were not
	// there.
	thorough bool
}

// checkWritten checks the spec as it is written.
func (b *build) checkWritten() error {
	spec := &b.request.Spec
	b.plugin = b.pipeline.plugins[spec.Type]
	switch types := b.pipeline.Types(); {
	case spec.Type == "":
		b.Error(field.Required(b.paths.networkType, "name the network plugin; there are "+strings.Join(types, ", ")))
	case b.plugin.Type == "":
		b.Error(fielderror.NotSupported(b.paths.networkType, spec.Type, types))
	}
	b.in.PodCIDR, b.in.ServiceCIDR = spec.EffectivePodCIDR(), spec.ServiceCIDR
	b.checkNetwork()
	b.checkInfrastructure()
	b.planRollout()
	if b.plugin.Type == "" {
		return nil
	}
	var raw []byte
	if spec.ProviderConfig != nil {
		raw = spec.ProviderConfig.Raw
	}
	if len(raw) > maxConfig {
		b.Error(field.TooLong(b.paths.config, "", maxConfig))
	}
	written, undecoded := b.plugin.Decode(raw, b.paths.config)
	errs := b.applyRatcheting(undecoded)
	b.Add(plugin.Findings{Errors: errs})
	if b.written, b.user = written, written; len(errs) == 0 || b.thorough {
		found := b.plugin.Validate(written, &b.in, b.paths.config)
		found.Errors = slices.DeleteFunc(found.Errors, func(err *field.Error) bool { // which is about no value of the user's
			return slices.ContainsFunc(undecoded, func(other *field.Error) bool { return other.Field == err.Field })
		})
		b.Add(found)
	}
	// No warning is about what a webhook has added to what the user wrote.
	if b.request.Written != nil {
		if user, errs := b.plugin.Decode(b.request.Written, b.paths.config); len(errs) == 0 {
			b.user = user
		}
	}
	return nil
}

func (b *build) validateEffective() error {
	b.Add(b.plugin.ValidateEffective(b.config, b.user, &b.in, b.paths.config))
	b.checkRoutes()
	b.warnOverridden()
	return nil
}

func (b *build) render() error {
	objects, err := b.plugin.Render(b.config, &b.in)
	if err != nil {
		return err
	}
	if bundle, wanted := probe.Bundle(&b.in); wanted {
		objects.Bundles = append(objects.Bundles, bundle)
	}
	names := map[string]bool{}
	for _, bundle := range objects.Bundles {
		if bundle.Name == "" || names[bundle.Name] {
			return fmt.Errorf("the %s plugin renders two bundles named %q, or one without a name", b.plugin.Type, bundle.Name)
		}
		names[bundle.Name] = true
		if err := complete(bundle.Objects); err != nil {
			return err
		}
		if access := b.in.PodAccess; access != nil && bundle.Target == plugin.Shoot {
			givePodsAccess(bundle.Objects, access)
		}
	}
	b.result.Objects = objects
	b.result.Precondition = b.plugin.Precondition(b.config, &b.in)
	b.result.IPFamilies = b.in.IPFamilies
	return nil
}

// identity identifies an object.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

func identityOf(object plugin.Object) identity {
	return identity{object.GetObjectKind().GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()}
}

// complete checks that each object can be applied, and occurs once.
func complete(objects []plugin.Object) error {
	seen := make(map[identity]struct{}, len(objects))
	for _, object := range objects {
		gvk, id := object.GetObjectKind().GroupVersionKind(), identityOf(object)
		_, twice := seen[id]
		switch {
		case gvk.Kind == "" || gvk.Version == "":
			return fmt.Errorf("the plugin rendered a %T named %q without apiVersion or kind", object, id.name)
		case id.name == "":
			return fmt.Errorf("the plugin rendered a %s without a name", gvk.Kind)
		case twice:
			return fmt.Errorf("the plugin rendered %s %s/%s twice", id.kind, id.namespace, id.name)
		}
		seen[id] = struct{}{}
	}
	return nil
}
