// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

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
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	manager = client.FieldOwner("plugintest")
	strict  = client.FieldValidation(metav1.FieldValidationStrict)
	// enough is how long an API server may take for all objects, and atOnce how many are
	// sent at a time.
	enough = 5 * time.Minute
	atOnce = 4
)

// apiServer: every object is applied as a dry-run. Unknown and duplicate fields are errors.
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
	workqueue.ParallelizeUntil(context.WithoutCancel(ctx), atOnce, len(documents), func(i int) {
		problems[i] = server.try(ctx, documents[i])
	})
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

// prepare creates namespaces of objects and definitions of kinds, and waits for these kinds.
func (s *server) prepare(ctx context.Context, documents []document) error {
	namespaces := sets.New("") // of what has none
	var kinds []schema.GroupKind
	for _, d := range documents {
		if name := d.GetNamespace(); !namespaces.Has(name) {
			namespaces.Insert(name)
			namespace := &corev1.Namespace{TypeMeta: system.TypeMeta("v1", "Namespace"), ObjectMeta: system.ClusterWide(name)}
			if err := s.create(ctx, documentOf(namespace)); err != nil {
				return err
			}
		}
		if d.is(apiextensionsv1.GroupName, "CustomResourceDefinition") {
			if err := s.create(ctx, d); err != nil {
				return err
			}
			var definition apiextensionsv1.CustomResourceDefinition
			if err := json.Unmarshal(d.raw, &definition); err != nil {
				return err
			}
			kinds = append(kinds, schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind})
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

func (s *server) create(ctx context.Context, d document) error {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(d.raw); err != nil {
		return err
	}
	switch err := s.client.Create(ctx, object, manager, strict); {
	case err == nil:
		s.created = append(s.created, object)
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("the API server does not take %s: %w", d, err)
	}
	return nil
}

// cleanUp deletes what was created. The test author may throw the API server away anyway.
func (s *server) cleanUp(ctx context.Context) {
	for _, one := range s.created {
		_ = s.client.Delete(context.WithoutCancel(ctx), one)
	}
}

// try returns what is wrong with an object; nil if the API server takes it.
func (s *server) try(ctx context.Context, d document) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(d.kind())
	object.SetNamespace(d.GetNamespace())
	object.SetName(d.GetName())
	err := s.client.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, d.raw), client.DryRunAll, client.ForceOwnership, manager, strict)
	switch {
	case meta.IsNoMatchError(err) && (!d.bundle.Await || d.GetAnnotations()[resourcesv1alpha1.OptionalKind] == "true"):
		return nil // another component brings the kind, or the object is optional
	case meta.IsNoMatchError(err):
		return fmt.Errorf("the API server does not know %s of %s, which is applied at once; render its definition, or put it into a plugin.ExtrasBundle if a workload brings that", d, d.kind().GroupVersion())
	case err != nil:
		return fmt.Errorf("the API server does not take %s of %s: %w", d, d.network, err)
	}
	return nil
}
