// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const (
	// manager is the field manager of dry-runs.
	manager = client.FieldOwner("plugintest")
	// strict makes unknown and duplicate fields errors.
	strict = client.FieldValidation(metav1.FieldValidationStrict)
	// enough is how long an API server may take for all of it.
	enough = 5 * time.Minute
	// attempts are how many objects are sent at a time.
	attempts = 4
)

// apiServer: every object that some network has is applied as a dry-run in which
// unknown and duplicate fields are errors.
func apiServer(s *suite, found *report) {
	if s.apiServer == nil {
		found.skipped = "NOT CHECKED: whether an API server accepts the objects is not known; pass one to Run with plugintest.WithAPIServer"
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), enough)
	defer cancel()
	server, err := newServer(s.apiServer)
	if err != nil {
		found.breach("the API server cannot be asked: %v", err)
		return
	}
	defer server.cleanUp(ctx)
	documents := s.documents()
	if err := server.prepare(ctx, documents); err != nil {
		found.breach("%v", err)
		return
	}
	problems := make([]error, len(documents))
	var all errgroup.Group
	all.SetLimit(attempts)
	for i, d := range documents {
		all.Go(func() error {
			problems[i] = server.try(ctx, d)
			return nil
		})
	}
	_ = all.Wait() // there are no errors but the problems
	for _, problem := range problems {
		if problem != nil {
			found.breach("%v", problem)
		}
	}
}

// server is an API server, and what was created there.
type server struct {
	client  client.Client
	created []client.Object
}

func newServer(config *rest.Config) (*server, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1                                      // the server's own fairness is enough
	config.WarningHandlerWithContext = rest.NoWarnings{} // of what will not be there one day
	c, err := client.New(config, client.Options{})
	return &server{client: c}, err
}

// prepare creates the namespaces of objects and the definitions of kinds among them,
// and waits until these are served.
func (s *server) prepare(ctx context.Context, documents []document) error {
	seen := sets.New[string]()
	var kinds []schema.GroupKind
	for _, d := range documents {
		if d.namespace != "" && !seen.Has(d.namespace) {
			seen.Insert(d.namespace)
			if err := s.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.namespace}}, "Namespace"); err != nil {
				return err
			}
		}
		if d.is(apiextensionsv1.GroupName, "CustomResourceDefinition") && !seen.Has(d.String()) {
			seen.Insert(d.String())
			definition := &unstructured.Unstructured{}
			if err := definition.UnmarshalJSON([]byte(d.raw)); err != nil {
				return err
			}
			if err := s.create(ctx, definition, d.kind.Kind); err != nil {
				return err
			}
			group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
			kinds = append(kinds, schema.GroupKind{Group: group, Kind: kind})
		}
	}
	for _, kind := range kinds {
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			_, err := s.client.RESTMapper().RESTMapping(kind)
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("the API server does not serve %s, which is defined: %w", kind, err)
		}
	}
	return nil
}

func (s *server) create(ctx context.Context, object client.Object, kind string) error {
	err := s.client.Create(ctx, object, manager, strict)
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fmt.Errorf("the API server does not take %s %s: %w", kind, object.GetName(), err)
	}
	s.created = append(s.created, object)
	return nil
}

// cleanUp deletes what was created. It ignores errors, since the test author may throw
// the API server away.
func (s *server) cleanUp(ctx context.Context) {
	for _, one := range s.created {
		_ = s.client.Delete(context.WithoutCancel(ctx), one)
	}
}

// try returns what is wrong with an object; nil if the API server takes it.
func (s *server) try(ctx context.Context, d document) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(d.kind)
	object.SetNamespace(d.namespace)
	object.SetName(d.name)
	err := s.client.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, []byte(d.raw)), client.DryRunAll, client.ForceOwnership, manager, strict)
	switch {
	case meta.IsNoMatchError(err) && (!d.awaited || d.annotations[resourcesv1alpha1.OptionalKind] == "true"):
		return nil // another component brings the kind, or the object is optional
	case meta.IsNoMatchError(err):
		return fmt.Errorf("the API server does not know %s of %s, which is applied at once; render its definition, or put it into a plugin.ExtrasBundle if a workload brings that", d, d.kind.GroupVersion())
	case err != nil:
		return fmt.Errorf("the API server does not take %s of %s: %w", d, d.network, err)
	}
	return nil
}
