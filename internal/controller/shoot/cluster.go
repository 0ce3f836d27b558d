// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// deployCluster copies the Shoot into its Cluster. Only we write Clusters, so a
// changed one is replaced as a whole: a patch could not state a null in it.
func (op *operation) deployCluster(ctx context.Context) error {
	spec, err := clusterSpec(op.shoot)
	if err != nil {
		return err
	}
	current := &extensionsv1alpha1.Cluster{}
	err = op.client.Get(ctx, client.ObjectKey{Name: op.namespace}, current)
	if apierrors.IsNotFound(err) {
		fresh := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: op.namespace}, Spec: *spec}
		op.annotateAPIServer(fresh)
		return op.client.Create(ctx, fresh)
	}
	if err != nil {
		return err
	}
	if isDeleting(current) {
		return waiting{fmt.Sprintf("the Cluster %s, which is being deleted, is gone", op.namespace)}
	}
	wanted := current.DeepCopy()
	wanted.Spec = *spec
	changed := op.annotateAPIServer(wanted)
	if same, err := sameJSON(current.Spec, wanted.Spec); err != nil || same && !changed {
		return err
	}
	return op.client.Update(ctx, wanted)
}

// annotateAPIServer says whether it changed anything. While the address is not
// known, which happens only in a deletion, the last known one stays.
func (op *operation) annotateAPIServer(cluster *extensionsv1alpha1.Cluster) bool {
	if op.apiServer == "" || cluster.Annotations[extensionsv1alpha1.APIServerAnnotation] == op.apiServer {
		return false
	}
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, extensionsv1alpha1.APIServerAnnotation, op.apiServer)
	return true
}

func clusterSpec(shoot *corev1beta1.Shoot) (*extensionsv1alpha1.ClusterSpec, error) {
	document, err := shootDocument(shoot)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	profile, err := json.Marshal(map[string]any{
		"apiVersion": corev1beta1.GroupVersion.String(),
		"kind":       "CloudProfile",
		"metadata":   map[string]any{"name": cloudProfileName(shoot, document)},
	})
	return &extensionsv1alpha1.ClusterSpec{
		CloudProfile: runtime.RawExtension{Raw: profile},
		Shoot:        runtime.RawExtension{Raw: raw},
	}, err
}

// cloudProfileName is the profile's in either of the two fields that can name it.
func cloudProfileName(shoot *corev1beta1.Shoot, document map[string]any) string {
	if name := shoot.Spec.CloudProfileName; name != nil {
		return *name
	}
	spec, _ := document["spec"].(map[string]any)
	reference, _ := spec["cloudProfile"].(map[string]any)
	name, _ := reference["name"].(string)
	return name
}

// shootDocument is the Shoot as it goes into the Cluster: all of it, but for the
// bookkeeping of the API server and for what this controller reports back. Those
// change with each report, and whoever watches the Cluster would work for it.
func shootDocument(shoot *corev1beta1.Shoot) (map[string]any, error) {
	reportless := shoot.DeepCopy()
	reportless.Status.Conditions = slices.DeleteFunc(reportless.Status.Conditions, isOurs)
	reportless.Status.Constraints = slices.DeleteFunc(reportless.Status.Constraints, isOurs)
	raw, err := json.Marshal(reportless)
	if err != nil {
		return nil, fmt.Errorf("encode the Shoot: %w", err)
	}
	document, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	shootMap := document.(map[string]any)
	shootMap["apiVersion"], shootMap["kind"] = corev1beta1.GroupVersion.String(), "Shoot"
	if metadata, is := shootMap["metadata"].(map[string]any); is {
		delete(metadata, "managedFields")
		delete(metadata, "resourceVersion")
	}
	if status, is := shootMap["status"].(map[string]any); is {
		delete(status, "lastOperation")
		delete(status, "lastErrors")
		delete(status, "observedGeneration")
		for _, list := range []string{"conditions", "constraints"} {
			if entries, is := status[list].([]any); is && len(entries) == 0 {
				delete(status, list)
			}
		}
	}
	return shootMap, nil
}

// sameJSON says whether two values are encoded the same, but for the order of
// keys and for white space.
func sameJSON(a, b any) (bool, error) {
	var decoded [2]any
	for i, value := range []any{a, b} {
		raw, err := json.Marshal(value)
		if err != nil {
			return false, err
		}
		if decoded[i], err = decodeJSON(raw); err != nil {
			return false, err
		}
	}
	return reflect.DeepEqual(decoded[0], decoded[1]), nil
}

// decodeJSON keeps numbers as they are written.
func decodeJSON(raw []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}
