// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// mapper tells how an API server serves its kinds. It remembers each kind that it was asked for. What
// discovery says about all kinds takes a third of a megabyte for each shoot, so it keeps that only while
// it is asked for more of them.
type mapper struct {
	discover func() (meta.RESTMapper, error)
	clock    clock.PassiveClock

	mu    sync.Mutex
	known map[schema.GroupVersionKind]*meta.RESTMapping
	all   meta.RESTMapper
	used  time.Time
}

var _ meta.RESTMapper = &mapper{}

// newMapper makes a mapper. It sends no request yet.
func newMapper(connection *connection, clock clock.PassiveClock) *mapper {
	return &mapper{
		discover: func() (meta.RESTMapper, error) {
			return apiutil.NewDynamicRESTMapper(connection.config, connection.requests)
		},
		clock: clock, known: map[schema.GroupVersionKind]*meta.RESTMapping{},
	}
}

// discovered returns a mapper that knows all kinds, or finds out.
func (m *mapper) discovered() (meta.RESTMapper, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = m.clock.Now()
	if m.all == nil {
		all, err := m.discover()
		if err != nil {
			return nil, err
		}
		m.all = all
	}
	return m.all, nil
}

// forget drops what discovery said if nothing has been asked of it within a time.
func (m *mapper) forget(unused time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clock.Since(m.used) >= unused {
		m.all = nil
	}
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) == 1 {
		m.mu.Lock()
		known := m.known[kind.WithVersion(versions[0])]
		m.mu.Unlock()
		if known != nil {
			return known, nil
		}
	}
	all, err := m.discovered()
	if err != nil {
		return nil, err
	}
	mapping, err := all.RESTMapping(kind, versions...)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.known[mapping.GroupVersionKind] = mapping
	}
	return mapping, err
}

// RESTMappings implements meta.RESTMapper.
func (m *mapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return with(m, func(all meta.RESTMapper) ([]*meta.RESTMapping, error) { return all.RESTMappings(kind, versions...) })
}

// KindFor implements meta.RESTMapper.
func (m *mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return with(m, func(all meta.RESTMapper) (schema.GroupVersionKind, error) { return all.KindFor(resource) })
}

// KindsFor implements meta.RESTMapper.
func (m *mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return with(m, func(all meta.RESTMapper) ([]schema.GroupVersionKind, error) { return all.KindsFor(resource) })
}

// ResourceFor implements meta.RESTMapper.
func (m *mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return with(m, func(all meta.RESTMapper) (schema.GroupVersionResource, error) { return all.ResourceFor(input) })
}

// ResourcesFor implements meta.RESTMapper.
func (m *mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return with(m, func(all meta.RESTMapper) ([]schema.GroupVersionResource, error) { return all.ResourcesFor(input) })
}

// ResourceSingularizer implements meta.RESTMapper.
func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	return with(m, func(all meta.RESTMapper) (string, error) { return all.ResourceSingularizer(resource) })
}

// with asks a mapper that knows all kinds.
func with[T any](m *mapper, ask func(meta.RESTMapper) (T, error)) (answer T, err error) {
	all, err := m.discovered()
	if err != nil {
		return answer, err
	}
	return ask(all)
}
