// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const (
	// manager is the field manager of dry-runs.
	manager = "plugintest"
	// enough is how long an API server may take for all of it.
	enough = 5 * time.Minute
	// attempts are how many objects are sent at a time.
	attempts = 4
)

var (
	definitions = schema.GroupVersionResource{Group: apiextensionsv1.GroupName, Version: "v1", Resource: "customresourcedefinitions"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// apiServer: every object that some network has is applied as a dry-run in which
// unknown fields and fields that are there twice are errors.
func apiServer(s *suite, found *report) {
	if s.apiServer == nil {
		found.skipped = "NOT CHECKED: nobody knows whether an API server accepts the objects; tell Run of one with plugintest.WithAPIServer"
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	server, err := newServer(ctx, s.apiServer)
	if err != nil {
		found.breach("the API server cannot be asked: %v", err)
		return
	}
	defer server.cleanUp()
	documents := s.documents()
	if err := server.prepare(documents); err != nil {
		found.breach("%v", err)
		return
	}
	for _, problem := range server.tryAll(documents) {
		found.breach("%s", problem)
	}
}

// server is an API server, and what was created there.
type server struct {
	context.Context
	client  dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	created []created
}

type created struct {
	resource schema.GroupVersionResource
	name     string
}

func newServer(ctx context.Context, config *rest.Config) (*server, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1                                      // the server's own fairness is enough
	config.WarningHandlerWithContext = rest.NoWarnings{} // of what will not be there one day
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &server{Context: ctx, client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

// prepare creates the namespaces of objects and the definitions of kinds among them,
// and waits until these are served.
func (s *server) prepare(documents []document) error {
	seen := map[string]bool{}
	var names []string
	for _, d := range documents {
		switch {
		case d.namespace != "" && !seen[d.namespace]:
			seen[d.namespace] = true
			namespace := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, d.namespace)
			if err := s.create(namespaces, d.namespace, namespace); err != nil {
				return err
			}
		case d.is(definitions.Group, "CustomResourceDefinition") && !seen[d.String()]:
			seen[d.String()] = true
			if err := s.create(definitions, d.name, d.raw); err != nil {
				return err
			}
			names = append(names, d.name)
		}
	}
	for _, name := range names {
		if err := s.await(name); err != nil {
			return err
		}
	}
	s.mapper.Reset()
	return nil
}

func (s *server) create(resource schema.GroupVersionResource, name, raw string) error {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(raw), object); err != nil {
		return err
	}
	_, err := s.client.Resource(resource).Create(s, object, metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fmt.Errorf("the API server does not take %s %s: %w", object.GetKind(), name, err)
	}
	s.created = append(s.created, created{resource, name})
	return nil
}

// await waits until a kind is served.
func (s *server) await(definition string) error {
	err := wait.PollUntilContextTimeout(s, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		object, err := s.client.Resource(definitions).Get(ctx, definition, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, one := range conditions {
			condition, _ := one.(map[string]any)
			if condition["type"] == string(apiextensionsv1.Established) && condition["status"] == string(metav1.ConditionTrue) {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("the API server does not serve what %s defines: %w", definition, err)
	}
	return nil
}

// cleanUp deletes what was created. It ignores errors, since the test author may throw
// the API server away.
func (s *server) cleanUp() {
	for _, one := range s.created {
		_ = s.client.Resource(one.resource).Delete(context.WithoutCancel(s), one.name, metav1.DeleteOptions{})
	}
}

// tryAll returns what is wrong with the objects.
func (s *server) tryAll(documents []document) []string {
	problems := make([]string, len(documents))
	places := make(chan struct{}, attempts)
	var all sync.WaitGroup
	for i, d := range documents {
		places <- struct{}{}
		all.Go(func() {
			problems[i] = s.try(d)
			<-places
		})
	}
	all.Wait()
	var some []string
	for _, problem := range problems {
		if problem != "" {
			some = append(some, problem)
		}
	}
	return some
}

// try says what is wrong with an object; nothing if the API server takes it.
func (s *server) try(d document) string {
	mapping, err := s.mapper.RESTMapping(d.kind.GroupKind(), d.kind.Version)
	switch {
	case meta.IsNoMatchError(err) && (d.group != inShoot || d.annotations[resourcesv1alpha1.OptionalKind] == "true"):
		return "" // another component brings the kind, or the object is optional
	case meta.IsNoMatchError(err):
		return fmt.Sprintf("the API server does not know %s of %s, which is to be applied at once; render its definition, or put it into a plugin.ExtrasBundle if a workload brings that", d, d.kind.GroupVersion())
	case err != nil:
		return fmt.Sprintf("the API server cannot be asked for %s: %v", d, err)
	}
	var resource dynamic.ResourceInterface = s.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = s.client.Resource(mapping.Resource).Namespace(d.namespace)
	}
	_, err = resource.Patch(s, d.name, types.ApplyPatchType, []byte(d.raw), metav1.PatchOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: manager, Force: new(true), FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return fmt.Sprintf("the API server does not take %s of %s: %v", d, d.network, err)
	}
	return ""
}
