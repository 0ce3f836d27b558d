// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Delete deletes an object and makes use of the answer, which other clients drop. told reports
// that the answer says what became of the object: remains is what of it waits for finalizers, or
// nil if it is gone. Otherwise, as after an error, the object must be read to find out.
func (s *Shoot) Delete(ctx context.Context, object *metav1.PartialObjectMetadata, options *client.DeleteOptions) (remains *metav1.PartialObjectMetadata, told bool, err error) {
	kind := object.GroupVersionKind()
	mapping, err := s.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, false, err
	}
	body, err := json.Marshal(options.AsDeleteOptions())
	if err != nil {
		return nil, false, fmt.Errorf("encode the options of a deletion: %w", err)
	}
	prefix := []string{"/apis", kind.Group, kind.Version}
	if kind.Group == "" {
		prefix = []string{"/api", kind.Version}
	}
	result := s.deletes.Delete().AbsPath(prefix...).
		NamespaceIfScoped(object.Namespace, mapping.Scope.Name() == meta.RESTScopeNameNamespace).
		Resource(mapping.Resource.Resource).Name(object.Name).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, false, err
	}
	var answer struct {
		metav1.PartialObjectMetadata `json:",inline"`
		Status                       json.RawMessage `json:"status"` // a word in a Status
	}
	raw, err := result.Raw()
	if err != nil || json.Unmarshal(raw, &answer) != nil {
		return nil, false, err
	}
	switch {
	case answer.Kind == "Status":
		// A Pod ends later, also where this is the answer.
		told = string(answer.Status) == `"`+metav1.StatusSuccess+`"` && kind.Kind != "Pod" && s.isProven()
		return nil, told, nil
	case answer.GroupVersionKind() != kind || answer.UID != object.UID || answer.DeletionTimestamp == nil:
		return nil, false, nil
	}
	return &answer.PartialObjectMetadata, true, nil
}

// newDeletes returns a client for Delete.
func newDeletes(connection *connection) (rest.Interface, error) {
	config := rest.CopyConfig(connection.config)
	config.APIPath, config.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, connection.requests)
}
