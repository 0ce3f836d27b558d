// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/internal/outcome"
)

// clusters are the copies of Shoots for the components of the seed.
type clusters struct{ seed }

// deploy copies the Shoot into its Cluster. No other program writes Clusters, so a
// Cluster that differs is replaced as a whole: a patch could not set a null in it.
func (c clusters) deploy(ctx context.Context, run *run) outcome.Outcome {
	spec, err := clusterSpec(run.shoot)
	if err != nil {
		return fail(err)
	}
	current := &extensionsv1alpha1.Cluster{}
	err = c.Get(ctx, client.ObjectKey{Name: run.namespace}, current)
	if apierrors.IsNotFound(err) {
		fresh := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: run.namespace}, Spec: *spec}
		annotateAPIServer(fresh, run.apiServer)
		return fail(c.Create(ctx, fresh))
	}
	if err != nil {
		return fail(err)
	}
	if isDeleting(current) {
		return outcome.Wait(fmt.Sprintf("the Cluster %s, which is being deleted, is gone", run.namespace), 0)
	}
	wanted := current.DeepCopy()
	wanted.Spec = *spec
	changed := annotateAPIServer(wanted, run.apiServer)
	if same, err := jsonequal.Values(current.Spec, wanted.Spec); err != nil || same && !changed {
		return fail(err)
	}
	return fail(c.Update(ctx, wanted))
}

// annotateAPIServer sets the annotation with the API server's address, and reports whether
// that changed it. An empty address leaves it as it is: during a deletion the address may
// no longer be known.
func annotateAPIServer(cluster *extensionsv1alpha1.Cluster, apiServer string) bool {
	if apiServer == "" || cluster.Annotations[extensionsv1alpha1.APIServerAnnotation] == apiServer {
		return false
	}
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, extensionsv1alpha1.APIServerAnnotation, apiServer)
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

// cloudProfileName returns the name of the CloudProfile, which one of two fields has. The
// second is not in our type.
func cloudProfileName(shoot *corev1beta1.Shoot, document map[string]any) string {
	if name := shoot.Spec.CloudProfileName; name != nil {
		return *name
	}
	name, _, _ := unstructured.NestedString(document, "spec", "cloudProfile", "name")
	return name
}

// shootDocument returns the Shoot for the Cluster: all of it except what the API server
// manages and what this controller reports. Those change with each report, and every
// watcher of the Cluster would reconcile. If the spec has no range of the nodes, the copy has that
// of the Infrastructure there, which a gardenlet writes into the Shoot itself.
func shootDocument(shoot *corev1beta1.Shoot) (map[string]any, error) {
	reduced := shoot.DeepCopy()
	reduced.Status.Conditions, _ = condition.Remove(reduced.Status.Conditions, systemComponentsHealthy)
	reduced.Status.Constraints, _ = condition.Remove(reduced.Status.Constraints, ConfigurationInForce)
	if of, in := reduced.Spec.Networking, reduced.Status.Networking; of != nil && of.Nodes == nil && in != nil && len(in.Nodes) > 0 {
		of.Nodes = &in.Nodes[0]
	}
	raw, err := json.Marshal(reduced)
	if err != nil {
		return nil, fmt.Errorf("encode the Shoot: %w", err)
	}
	document := map[string]any{}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	document["apiVersion"], document["kind"] = corev1beta1.GroupVersion.String(), "Shoot"
	for _, path := range [][]string{
		{"metadata", "managedFields"}, {"metadata", "resourceVersion"},
		{"status", "lastOperation"}, {"status", "lastErrors"}, {"status", "observedGeneration"},
	} {
		unstructured.RemoveNestedField(document, path...)
	}
	return document, nil
}
