// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// Plugin is a Definition whose config type is hidden, so that plugins of
// different types can stand in one list. Make it with New.
type Plugin struct {
	Description
	Methods
}

// Methods are those of a Definition. Configs are pointers to the Definition's type: they
// come from Decode and Clone of the same Plugin. A Definition's panic is not recovered:
// callers use Guard.
type Methods interface {
	// Decode decodes a providerConfig strictly: unknown and duplicate fields and
	// wrong types are errors with their path. Nothing decodes as an empty config.
	Decode(raw []byte, path *field.Path) (any, field.ErrorList)
	// Encode is the inverse of Decode, in the plugin's first config version.
	Encode(config any) ([]byte, error)
	// Clone returns a deep copy of a config, also of one that was decoded with errors.
	Clone(config any) (any, error)

	Validate(written any, in *Input, path *field.Path) Findings
	Default(config any, in *Input, origins *Origins)
	ValidateEffective(effective, written any, in *Input, path *field.Path) Findings
	// Classify has the configs before and after, and what State has beside them.
	Classify(path string, before, after any, then, now *Input) (ChangeClass, string)
	Render(effective any, in *Input) (Objects, error)

	// Transition is that of a Transitioner. Other Definitions have no steps.
	Transition(before, after any, then, now *Input) []AnyStep
	// Exchange is that of an Exchanger. For other Definitions it is false.
	Exchange(effective any, in *Input, path *field.Path) (Exchange, bool)
	// RouteNatively is that of a NativeRouter. For other Definitions it is false.
	RouteNatively(written any) (isNativeRouter bool)
	// Precondition is that of a Preconditioner. Other Definitions have none.
	Precondition(effective any, in *Input) *Precondition
	// DescribeDataPath is that of a DataPathDescriber. For other Definitions it is empty.
	DescribeDataPath(effective any) DataPath
	// IsShootDefaulter reports whether the Definition is a ShootDefaulter.
	IsShootDefaulter() bool
	// DefaultShoot is that of a ShootDefaulter. Other Definitions change nothing.
	DefaultShoot(old, shoot *corev1beta1.Shoot, in *Input) []Warning
	// IsAdopter reports whether the Definition is an Adopter, so that the next two may be called.
	IsAdopter() bool
	// Inherit is that of an Adopter.
	Inherit(present []unstructured.Unstructured) Inherited
	// MustInherit is that of an Adopter.
	MustInherit() bool
	// IsMutator reports whether the Definition is a Mutator, so that Mutate may be called.
	IsMutator() bool
	// IsNetworkMutator reports whether the Definition is a NetworkMutator, so that MutateNetwork
	// may be called.
	IsNetworkMutator() bool
	// MutateNetwork is that of a NetworkMutator.
	MutateNetwork(infrastructure *Infrastructure, config *runtime.RawExtension) (*runtime.RawExtension, error)
	// Mutate is that of a Mutator.
	Mutate(object *unstructured.Unstructured) (changed bool, err error)
}

// New makes a Plugin of its Definition.
func New[C any](definition Definition[C]) Plugin {
	description := definition.Describe()
	return Plugin{Description: description, Methods: adapter[C]{definition, description}}
}

// StatusTypeMeta returns apiVersion and kind of the plugin's providerStatus.
func (p *Plugin) StatusTypeMeta() (apiVersion, kind string) {
	return p.ConfigVersions[0].String(), "NetworkStatus"
}

// adapter makes Methods of a Definition.
type adapter[C any] struct {
	definition  Definition[C]
	description Description
}

func (a adapter[C]) Decode(raw []byte, path *field.Path) (any, field.ErrorList) {
	config := new(C)
	errs := decodeStrict(raw, config, a.description.ConfigVersions, path)
	return config, errs
}

func (a adapter[C]) Encode(config any) ([]byte, error) {
	return encode(config, a.description.ConfigVersions)
}

func (a adapter[C]) Clone(config any) (any, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("copy the %s config: %w", a.description.Type, err)
	}
	clone := new(C)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, clone); err != nil {
		return nil, fmt.Errorf("copy the %s config: %w", a.description.Type, err)
	}
	return clone, nil
}

func (a adapter[C]) Validate(written any, in *Input, path *field.Path) Findings {
	return a.definition.Validate(written.(*C), in, path)
}

func (a adapter[C]) Default(config any, in *Input, origins *Origins) {
	a.definition.Default(config.(*C), in, origins)
}

func (a adapter[C]) ValidateEffective(effective, written any, in *Input, path *field.Path) Findings {
	return a.definition.ValidateEffective(effective.(*C), written.(*C), in, path)
}

func (a adapter[C]) Classify(path string, before, after any, then, now *Input) (ChangeClass, string) {
	return a.definition.Classify(Change[C]{path, State[C]{before.(*C), then}, State[C]{after.(*C), now}})
}

func (a adapter[C]) Render(effective any, in *Input) (Objects, error) {
	return a.definition.Render(effective.(*C), in)
}

func (a adapter[C]) Transition(before, after any, then, now *Input) []AnyStep {
	transitioner, ok := a.definition.(Transitioner[C])
	if !ok {
		return nil
	}
	var steps []AnyStep
	for _, step := range transitioner.Transition(State[C]{before.(*C), then}, State[C]{after.(*C), now}) {
		steps = append(steps, AnyStep{step.Name, step.Config, step.Precondition})
	}
	return steps
}

func (a adapter[C]) Exchange(effective any, in *Input, path *field.Path) (exchange Exchange, isExchanger bool) {
	exchanger, ok := a.definition.(Exchanger[C])
	if !ok {
		return Exchange{}, false
	}
	return exchanger.Exchange(effective.(*C), in, path), true
}

func (a adapter[C]) RouteNatively(written any) bool {
	router, ok := a.definition.(NativeRouter[C])
	if ok {
		router.RouteNatively(written.(*C))
	}
	return ok
}

func (a adapter[C]) Precondition(effective any, in *Input) *Precondition {
	if preconditioner, ok := a.definition.(Preconditioner[C]); ok {
		return preconditioner.Precondition(effective.(*C), in)
	}
	return nil
}

func (a adapter[C]) DescribeDataPath(effective any) DataPath {
	if describer, ok := a.definition.(DataPathDescriber[C]); ok {
		return describer.DescribeDataPath(effective.(*C))
	}
	return DataPath{}
}

func (a adapter[C]) IsShootDefaulter() bool {
	_, is := a.definition.(ShootDefaulter)
	return is
}

func (a adapter[C]) DefaultShoot(old, shoot *corev1beta1.Shoot, in *Input) []Warning {
	if defaulter, ok := a.definition.(ShootDefaulter); ok {
		return defaulter.DefaultShoot(old, shoot, in)
	}
	return nil
}

func (a adapter[C]) IsAdopter() bool {
	_, is := a.definition.(Adopter)
	return is
}

func (a adapter[C]) Inherit(present []unstructured.Unstructured) Inherited {
	return a.definition.(Adopter).Inherit(present)
}

func (a adapter[C]) MustInherit() bool { return a.definition.(Adopter).MustInherit() }

func (a adapter[C]) IsMutator() bool {
	_, is := a.definition.(Mutator)
	return is
}

func (a adapter[C]) IsNetworkMutator() bool {
	_, is := a.definition.(NetworkMutator)
	return is
}

func (a adapter[C]) MutateNetwork(infrastructure *Infrastructure, config *runtime.RawExtension) (*runtime.RawExtension, error) {
	return a.definition.(NetworkMutator).MutateNetwork(infrastructure, config)
}

func (a adapter[C]) Mutate(object *unstructured.Unstructured) (changed bool, err error) {
	return a.definition.(Mutator).Mutate(object)
}
