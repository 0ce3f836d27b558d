// SPDX-License-Identifier: Apache-2.0

package pairwise

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/test/install"
)

// server sends objects to the API server.
type server struct {
	testing.TB
	client  client.Client
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
}

// refusal is an object that the API server rejected.
type refusal struct {
	document
	err error
}

func newServer(t *testing.T) *server {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", landscape.Get(t).Seed.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &server{TB: t, mapper: mapper, dynamic: dynamic.NewForConfigOrDie(config)}
	if s.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return s
}

// prepare creates what the objects need: the namespace, the network's own CRDs, and CRDs for
// other kinds of the objects.
func (s *server) prepare(documents []document) {
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: controlPlane}})
	known := map[schema.GroupKind]bool{}
	for _, definition := range append(verticalPodAutoscalers(s.TB), definitions(s.TB, documents)...) {
		known[schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}] = true
		s.create(definition)
	}
	for _, d := range documents {
		gvk := d.object.GetObjectKind().GroupVersionKind()
		if _, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(err) && !known[gvk.GroupKind()] {
			known[gvk.GroupKind()] = true
			s.create(withoutSchema(gvk, d.object.GetNamespace()))
		}
	}
	err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		established, all, err := install.Established(ctx, s.client)
		return established == all, err
	})
	if err != nil {
		s.Fatalf("the API server does not serve the CRDs: %v", err)
	}
}

func (s *server) create(object client.Object) {
	if err := client.IgnoreAlreadyExists(s.client.Create(s.Context(), object)); err != nil {
		s.Fatal(err)
	}
}

// tryAll sends all objects and returns those that the API server rejects.
func (s *server) tryAll(documents []document) []refusal {
	var mutex sync.Mutex
	var refused []refusal
	var group errgroup.Group
	group.SetLimit(8)
	for _, one := range documents {
		group.Go(func() error {
			if err := s.try(one); err != nil {
				mutex.Lock()
				defer mutex.Unlock()
				refused = append(refused, refusal{one, err})
			}
			return nil
		})
	}
	_ = group.Wait() // the functions above return no errors
	return refused
}

// try applies an object as a dry-run in which unknown and duplicate fields are errors.
func (s *server) try(d document) error {
	gvk := d.object.GetObjectKind().GroupVersionKind()
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = s.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = s.dynamic.Resource(mapping.Resource).Namespace(d.object.GetNamespace())
	}
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	for {
		_, err = resource.Patch(ctx, d.object.GetName(), types.ApplyPatchType, []byte(d.raw), metav1.PatchOptions{
			DryRun: []string{metav1.DryRunAll}, FieldManager: "pairwise", Force: new(true), FieldValidation: metav1.FieldValidationStrict,
		})
		if !apierrors.IsTooManyRequests(err) && !apierrors.IsServerTimeout(err) {
			return err
		}
	}
}

// definitions returns the CRDs among the documents.
func definitions(tb testing.TB, documents []document) []*apiextensionsv1.CustomResourceDefinition {
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, d := range documents {
		if d.object.GetObjectKind().GroupVersionKind().Kind != "CustomResourceDefinition" {
			continue
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal([]byte(d.raw), definition); err != nil {
			tb.Fatal(err)
		}
		found = append(found, definition)
	}
	return found
}

// verticalPodAutoscalers returns the CRDs of VerticalPodAutoscalers, from the Go module of
// their types.
func verticalPodAutoscalers(tb testing.TB) []*apiextensionsv1.CustomResourceDefinition {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/autoscaler/vertical-pod-autoscaler").Output()
	if err != nil {
		tb.Fatalf("find the module of VerticalPodAutoscalers: %v", err)
	}
	stream, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "deploy", "vpa-v1-crd-gen.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	var found []*apiextensionsv1.CustomResourceDefinition
	for text := range strings.SplitSeq(string(stream), "\n---\n") {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal([]byte(text), definition); err != nil {
			tb.Fatal(err)
		}
		if definition.Name != "" {
			found = append(found, definition)
		}
	}
	return found
}

// withoutSchema returns a CRD that accepts any object of a kind, for kinds whose CRD is not
// available.
func withoutSchema(gvk schema.GroupVersionKind, namespace string) *apiextensionsv1.CustomResourceDefinition {
	scope := apiextensionsv1.NamespaceScoped
	if namespace == "" {
		scope = apiextensionsv1.ClusterScoped
	}
	plural, singular := meta.UnsafeGuessKindToResource(gvk)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural.Resource + "." + gvk.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gvk.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: gvk.Kind, ListKind: gvk.Kind + "List", Plural: plural.Resource, Singular: singular.Resource,
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gvk.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}
