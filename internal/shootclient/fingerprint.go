// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
)

// Fingerprint tells two states of an object apart by its metadata: it differs
// when anything but the status differs. For kinds that others write the status
// of, the generation stands for the spec; for all others the resourceVersion
// stands for everything. The copy of the object that kubectl apply leaves in an annotation
// makes no difference, since the cache does not have it.
func Fingerprint(kind schema.GroupKind, object metav1.Object) string {
	version := object.GetResourceVersion()
	if object.GetGeneration() != 0 && generationIsReliable(kind) {
		version = ""
	}
	annotations := object.GetAnnotations()
	if _, has := annotations[corev1.LastAppliedConfigAnnotation]; has {
		annotations = maps.Clone(annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
	if len(annotations) == 0 {
		annotations = nil // no and empty annotations are the same
	}
	raw, _ := json.Marshal([]any{ // fails for none of these types
		object.GetUID(), object.GetGeneration(), version, object.GetDeletionTimestamp() != nil,
		object.GetLabels(), annotations, object.GetOwnerReferences(), object.GetFinalizers(),
	})
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// generationIsReliable reports whether each change of the spec raises the
// generation. Some built-in kinds set a generation and never raise it, so for
// those only kinds count whose status changes often enough to matter. For custom
// resources the API server itself takes care of it.
func generationIsReliable(kind schema.GroupKind) bool {
	switch kind.Group {
	case "apps", "batch", "apiextensions.k8s.io":
		return true
	case "policy":
		return kind.Kind == "PodDisruptionBudget"
	}
	// Vertical autoscaling is custom, although its group looks like one of Kubernetes' own.
	return kind.Group == vpav1.SchemeGroupVersion.Group || strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}
