// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trellis-network/trellis/test/contract"
)

func workload() *item {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "d", "namespace": "n", "labels": map[string]any{"ours": "yes"}},
		"spec":     map[string]any{"template": map[string]any{}},
	}}
	return &item{id: identityOfObject(object), object: object}
}

// The fields that other clients may own.
func TestExceptions(t *testing.T) {
	contract.Shows(t, "R10", "R11", "R12")
	formerly := &reference{
		Labels:      map[string]string{"formerly": "ours", "changed": "ours"},
		Annotations: map[string]string{"formerly": "ours", "changed": "ours"},
	}
	now := map[string]string{"formerly": "ours", "changed": "theirs", "theirs": "yes", "ours": "yes"}
	for _, c := range []struct {
		path    fieldpath.Path
		allowed bool
	}{
		{fieldpath.MakePathOrDie("metadata", "labels", "theirs"), true},
		{fieldpath.MakePathOrDie("metadata", "labels", "ours"), false},
		{fieldpath.MakePathOrDie("metadata", "labels", "formerly"), false},
		{fieldpath.MakePathOrDie("metadata", "labels", "changed"), true},
		{fieldpath.MakePathOrDie("metadata", "annotations", "theirs"), true},
		{fieldpath.MakePathOrDie("metadata", "annotations", "formerly"), false},
		{fieldpath.MakePathOrDie("metadata", "annotations", "changed"), true},
		{fieldpath.MakePathOrDie("metadata", "finalizers", "x"), true},
		{fieldpath.MakePathOrDie("metadata", "ownerReferences"), false},
		{fieldpath.MakePathOrDie("status", "replicas"), true},
		{fieldpath.MakePathOrDie("spec", "replicas"), true},
		{fieldpath.MakePathOrDie("spec", "paused"), false},
		{fieldpath.MakePathOrDie("spec", "template", "metadata", "annotations", restartedAt), true},
		{fieldpath.MakePathOrDie("spec", "template", "metadata", "annotations", "theirs"), false},
		{fieldpath.MakePathOrDie("spec", "template", "metadata", "labels", "theirs"), false},
		{fieldpath.MakePathOrDie("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "x")), false},
	} {
		t.Run(c.path.String(), func(t *testing.T) {
			live := workload().object
			live.SetLabels(now)
			live.SetAnnotations(now)
			NewWithT(t).Expect(exceptionsFor(workload(), formerly, live).allows(c.path)).To(Equal(c.allowed))
		})
	}
}

// Whichever managers own which fields: afterwards other managers own exactly the exceptions
// among their fields, Trellis owns all others, no field has lost its owner, and a second
// run changes nothing.
func TestTakingOwnershipKeepsEveryFieldOwned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := workload()
		allowed := exceptionsFor(i, nil, i.object)
		live := i.object.DeepCopy()
		names := rapid.SampledFrom([]string{"spec", "metadata", "labels", "annotations", "ours", "replicas", "template", "status", "x"})
		var entries []metav1.ManagedFieldsEntry
		for range rapid.IntRange(0, 4).Draw(t, "managers") {
			fields := &fieldpath.Set{}
			for range rapid.IntRange(1, 6).Draw(t, "fields") {
				var parts []any
				for _, name := range rapid.SliceOfN(names, 1, 4).Draw(t, "path") {
					parts = append(parts, name)
				}
				fields.Insert(fieldpath.MakePathOrDie(parts...))
			}
			encoded, err := encodeFields(fields)
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, metav1.ManagedFieldsEntry{
				Manager:    rapid.SampledFrom([]string{FieldManager, "kubectl", "other"}).Draw(t, "manager"),
				Operation:  rapid.SampledFrom([]metav1.ManagedFieldsOperationType{"Apply", "Update"}).Draw(t, "operation"),
				APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: encoded,
				Subresource: rapid.SampledFrom([]string{"", "", "status"}).Draw(t, "subresource"),
			})
		}
		// An API server has one entry for each manager, operation and subresource.
		live.SetManagedFields(unique(entries))
		before := &fieldpath.Set{}
		for _, entry := range live.GetManagedFields() {
			fields, _ := decodeFields(&entry)
			before = before.Union(fields)
		}

		owners, err := takeOwnership(live, allowed)
		if err != nil {
			t.Fatal(err)
		}
		if !owners.ours.Union(owners.others).Equals(before) {
			t.Fatalf("owned before:\n%s\nafter:\n%s\n%s", before, owners.ours, owners.others)
		}
		live.SetManagedFields(owners.entries)
		again, err := takeOwnership(live, allowed)
		if err != nil {
			t.Fatal(err)
		}
		if again.moved {
			t.Fatalf("a second run changes more: %v", again.entries)
		}
	})
}

func unique(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var kept []metav1.ManagedFieldsEntry
	seen := map[[3]string]bool{}
	for _, entry := range entries {
		key := [3]string{entry.Manager, string(entry.Operation), entry.Subresource}
		if !seen[key] {
			kept = append(kept, entry)
		}
		seen[key] = true
	}
	return kept
}

// A hostile API server makes up managedFields with which a processor would be busy for minutes.
func TestManagedFieldsThatTakeLongAreRefused(t *testing.T) {
	deep := func(depth int) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{entryWith(strings.Repeat(`{".":{},"f:a":`, depth-1) + "{}" + strings.Repeat("}", depth-1))}
	}
	many := func(n int) (entries []metav1.ManagedFieldsEntry) {
		for i := range n {
			entries = append(entries, entryWith(fmt.Sprintf(`{"f:status":{"f:x%d":{}}}`, i)))
		}
		return entries
	}
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		told    string
	}{
		"as deep as may be": {deep(maxDepth), ""}, "too deep": {deep(maxDepth + 1), "in each other"},
		"as many managers as may be": {many(maxManagers), ""}, "too many managers": {many(maxManagers + 1), "managedFields have 201 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			live := workload().object
			live.SetManagedFields(test.entries)
			_, err := takeOwnership(live, exceptionsFor(workload(), nil, live))
			if test.told == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.told)))
			}
		})
	}
}

func entryWith(fields string) metav1.ManagedFieldsEntry {
	entry := metav1.ManagedFieldsEntry{Manager: "other", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{}}
	entry.FieldsV1.SetRawBytes([]byte(fields))
	return entry
}
