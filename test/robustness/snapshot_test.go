// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
)

// snapshot has the objects of a run as JSON, by cluster, kind and name, without the fields that
// differ from run to run.
type snapshot map[string]string

// The kinds in a snapshot: those of a control plane, and those of a network in the shoot.
var (
	seedKinds = []schema.GroupVersionKind{
		{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "Network"},
		{Group: "resources.gardener.cloud", Version: "v1alpha1", Kind: "ManagedResource"},
		{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ConfigMap"},
	}
	shootKinds = []schema.GroupVersionKind{
		{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "ConfigMap"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	}
)

// look takes a snapshot.
func (w *world) look() snapshot {
	w.t.Helper()
	seen := map[string]*unstructured.Unstructured{}
	note := func(cluster string, kind schema.GroupVersionKind, options ...client.ListOption) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		w.Expect(w.api.client.List(w.ctx, list, options...)).To(Succeed())
		for i := range list.Items {
			one := &list.Items[i]
			seen[cluster+" "+kind.Kind+" "+one.GetName()] = one
		}
	}
	for _, kind := range seedKinds {
		note(inSeed, kind, client.InNamespace(w.namespace()))
	}
	delete(seen, "seed Secret gardener")
	delete(seen, "seed ConfigMap kube-root-ca.crt")
	if w.trigger == network.TriggerOperation {
		// Gardener's garbage collector may delete these at any time (Gardener contract, L6).
		_, superseded := w.bundleSecrets()
		for _, name := range superseded {
			delete(seen, "seed Secret "+name)
		}
	}
	if w.ofShoot {
		w.lookAtFlow(note)
	}
	for _, kind := range w.kinds {
		note(inShoot, kind, client.MatchingLabels{resourcesv1alpha1.ManagedBy: w.run}, client.InNamespace(namespaceOf(kind)))
	}
	w.lastSeen = seen
	return w.normalized(seen)
}

// namespaceOf returns the namespace in the shoot of the objects of a kind.
func namespaceOf(kind schema.GroupVersionKind) string {
	if kind.Kind == "ClusterRole" {
		return ""
	}
	return system
}

var (
	// moments are the times in messages.
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	// volatile are the fields that differ from run to run, at any path.
	volatile = []string{
		"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "lastUpdateTime",
		"lastTransitionTime", "secretsDataChecksum", "deletionTimestamp", "selfLink", "gardener.cloud/timestamp",
		"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", hadAnnotation,
		"batch.kubernetes.io/controller-uid", "controller-uid",
	}
)

// normalized removes from objects what differs from run to run: times, the run's name, and
// hashes of it. It replaces the hash in the name of a Secret by a hash of the content without
// the run's name, so that Secrets with different contents still have different names.
func (w *world) normalized(seen map[string]*unstructured.Unstructured) snapshot {
	replace := strings.NewReplacer(append(w.namesOfSecrets(), w.run, "RUN")...)
	taken := snapshot{}
	for key, each := range seen {
		content := each.DeepCopy().Object
		if deleted := each.GetDeletionTimestamp(); deleted != nil {
			content["deleted"] = true
		}
		switch each.GetKind() {
		case "Secret":
			delete(content, "data")
		case "ManagedResource", "Network", "Shoot":
			if w.ofShoot { // a Cluster that is seen late has the Network written twice
				unstructured.RemoveNestedField(content, "status", "observedGeneration")
				unstructured.RemoveNestedField(content, "status", "lastOperation", "type")
			}
		case "Deployment": // Kubernetes' own controller writes these
			delete(content, "status")
			unstructured.RemoveNestedField(content, "metadata", "annotations")
		}
		forget(content)
		raw, _ := json.MarshalIndent(content, "", " ")
		taken[replace.Replace(key)] = moments.ReplaceAllString(replace.Replace(string(raw)), "TIME")
	}
	return taken
}

// namesOfSecrets returns the hashes in the names of all Secrets of the run, and the hashes of
// these names, each followed by its replacement.
func (w *world) namesOfSecrets() []string {
	names := slices.Clone(w.ownSecrets)
	for _, one := range w.written().of(inSeed, secrets) {
		if one.method != http.MethodPost {
			continue
		}
		data, _, _ := unstructured.NestedString(one.result.Object, "data", "objects.json")
		content, _ := base64.StdEncoding.DecodeString(data)
		names = append(names, w.nameOfSecret(one.name, content)...)
	}
	return names
}

func (w *world) nameOfSecret(name string, content []byte) []string {
	called := "content-" + shortHash(strings.ReplaceAll(string(content), w.run, "RUN"))
	return []string{name[strings.LastIndex(name, "-")+1:], called, shortHash(name), "of-" + called}
}

// forget removes volatile fields.
func forget(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range volatile {
			delete(value, field)
		}
		if value["type"] == "SystemComponentsHealthy" {
			delete(value, "message") // the operator delays its changes
		}
		for _, each := range value {
			forget(each)
		}
		if conditions, ok := value["conditions"].([]any); ok {
			slices.SortFunc(conditions, func(a, b any) int { return cmp.Compare(typeOf(a), typeOf(b)) })
		}
	case []any:
		for _, each := range value {
			forget(each)
		}
	}
}

// typeOf returns the type of a condition. Conditions are compared by type, not by their order.
func typeOf(condition any) string {
	content, _ := condition.(map[string]any)
	name, _ := content["type"].(string)
	return name
}

func shortHash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])[:8]
}

// difference describes the differences between two snapshots.
func difference(wanted, got snapshot) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		switch there, ok := got[key]; {
		case !ok:
			lines = append(lines, "missing: "+key)
		case there != wanted[key]:
			lines = append(lines, fmt.Sprintf("%s differs:\n%s", key, lineByLine(wanted[key], there)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := wanted[key]; !ok {
			lines = append(lines, "unexpected: "+key)
		}
	}
	return strings.Join(lines, "\n")
}

// lineByLine returns the lines that only one of two texts has.
func lineByLine(wanted, got string) string {
	var found []string
	one, two := strings.Split(wanted, "\n"), strings.Split(got, "\n")
	for _, line := range one {
		if !slices.Contains(two, line) {
			found = append(found, "- "+line)
		}
	}
	for _, line := range two {
		if !slices.Contains(one, line) {
			found = append(found, "+ "+line)
		}
	}
	if len(found) == 0 {
		return "(only the order of lines)"
	}
	return strings.Join(found, "\n")
}
