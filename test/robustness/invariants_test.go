// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
)

// broken returns the invariants that a scenario violates. The writes of the scenario begin at
// a place in the history. The invariants hold for every run, with any disturbance.
func (w *world) broken(s *scenario, from int) []string {
	h := w.written()
	rules := []func(history, *write, *scenario) string{
		desiredStays, finalizerFirst, finalizerOfManagedResourceFirst, inventoryFirst, successIsTrue,
		networkGoesLast, secretsInUseStay, keptBeforeDeleted, specIsTheUsers,
	}
	if w.ofShoot {
		rules = []func(history, *write, *scenario) string{infrastructureFirst, infrastructureLast, answeredFirst}
	}
	var found []string
	for _, one := range h[from:] {
		if !one.landed() {
			continue
		}
		for _, rule := range rules {
			if problem := rule(h, one, s); problem != "" {
				found = append(found, fmt.Sprintf("%s\n\tat %s", problem, one))
			}
		}
	}
	return append(found, w.owners()...)
}

// desiredStays: an object that is desired before and after the scenario is never deleted.
func desiredStays(_ history, one *write, s *scenario) string {
	if one.method != http.MethodDelete || one.cluster != inShoot || s.everythingGoes {
		return ""
	}
	_, name, _ := strings.Cut(one.name, "-")
	if slices.Contains(s.goes, name) {
		return ""
	}
	return "a desired object was deleted"
}

// finalizerFirst: the Network has its finalizer before any object is created for it.
func finalizerFirst(h history, one *write, _ *scenario) string {
	makes := one.method == http.MethodPost && (one.resource == managedResources || one.resource == secrets) && one.cluster == inSeed
	if !makes {
		return ""
	}
	last := h.before(one).of(inSeed, networks).last()
	if last == nil || !slices.Contains(last.finalizers(), extensionsv1alpha1.NetworkFinalizer) {
		return "an object was created for a Network without our finalizer"
	}
	return ""
}

// finalizerOfManagedResourceFirst: a ManagedResource has its finalizer before any object is
// created for it.
func finalizerOfManagedResourceFirst(h history, one *write, s *scenario) string {
	if !one.makesObject() || s.withoutNetwork {
		return ""
	}
	for _, mr := range h.before(one).of(inSeed, managedResources) {
		if slices.ContainsFunc(mr.finalizers(), func(f string) bool { return strings.HasPrefix(f, managedresource.Finalizer) }) &&
			mr.inventoryHas(one) {
			return ""
		}
	}
	return "an object was created for a ManagedResource without finalizer"
}

// makesObject reports whether a write created an object of a bundle.
func (w *write) makesObject() bool {
	return w.code == http.StatusCreated && w.method == http.MethodPatch
}

// inventoryFirst: an object is in an inventory before it is created.
func inventoryFirst(h history, one *write, _ *scenario) string {
	if !one.makesObject() {
		return ""
	}
	present := map[string]*write{}
	for _, mr := range h.before(one).of(inSeed, managedResources) {
		present[mr.name] = mr
	}
	for _, mr := range present {
		if mr.inventoryHas(one) {
			return ""
		}
	}
	return "an object was created that no inventory has"
}

// inventoryHas reports whether the inventory of a ManagedResource, as its write returned it,
// has the object of another write.
func (w *write) inventoryHas(object *write) bool {
	if w.result == nil {
		return false
	}
	list, _, _ := unstructured.NestedSlice(w.result.Object, "status", "resources")
	return slices.ContainsFunc(list, func(each any) bool {
		ref, _ := each.(map[string]any)
		kind, _ := ref["kind"].(string)
		return ref["name"] == object.name && strings.EqualFold(kind, object.result.GetKind())
	})
}

// successIsTrue: a Network reports Succeeded only after its operation is complete.
func successIsTrue(h history, one *write, s *scenario) string {
	if !one.is(inSeed, networks) || one.result == nil ||
		text(one.result, "status", "lastOperation", "state") != "Succeeded" || one.subresource != "status" {
		return ""
	}
	before := h.before(one)
	if previous := before.of(inSeed, networks).last(); previous != nil &&
		text(previous.result, "status", "lastOperation", "lastUpdateTime") == text(one.result, "status", "lastOperation", "lastUpdateTime") &&
		text(previous.result, "status", "lastOperation", "state") == "Succeeded" {
		return "" // an earlier write reported it
	}
	switch text(one.result, "status", "lastOperation", "type") {
	case "Delete", "Migrate":
		if left := before.managedLeft(); len(left) > 0 && !s.forced {
			return fmt.Sprintf("Succeeded while the ManagedResources %v exist", left)
		}
		return ""
	}
	bundle := mainBundle
	if secretInState(one.result, otherBundle) != "" {
		bundle = otherBundle
	}
	mr := before.of(inSeed, managedResources).named(bundle).last()
	switch {
	case mr == nil:
		return "Succeeded without a ManagedResource"
	case secretOf(mr.result) != secretInState(one.result, bundle):
		return "Succeeded while the ManagedResource refers to another Secret"
	case !isApplied(mr.result):
		return "Succeeded before the content is applied"
	}
	return ""
}

// secretInState returns the name of a bundle's Secret in the state of a Network.
func secretInState(network *unstructured.Unstructured, name string) string {
	bundles, _, _ := unstructured.NestedSlice(network.Object, "status", "state", "bundles")
	for _, each := range bundles {
		if bundle, ok := each.(map[string]any); ok && bundle["name"] == name {
			secret, _ := bundle["secret"].(string)
			return secret
		}
	}
	return ""
}

// isApplied reports whether the present generation of a ManagedResource is applied.
func isApplied(mr *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(mr.Object, "status", "observedGeneration")
	if number, ok, _ := unstructured.NestedFloat64(mr.Object, "status", "observedGeneration"); ok {
		observed = int64(number)
	}
	generation, _, _ := unstructured.NestedFieldNoCopy(mr.Object, "metadata", "generation")
	return fmt.Sprint(generation) == fmt.Sprint(observed) && conditionOf(mr, "ResourcesApplied") == "True"
}

func conditionOf(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, _ := each.(map[string]any); condition["type"] == kind {
			status, _ := condition["status"].(string)
			return status
		}
	}
	return ""
}

func secretOf(mr *unstructured.Unstructured) string {
	refs, _, _ := unstructured.NestedSlice(mr.Object, "spec", "secretRefs")
	if len(refs) != 1 {
		return ""
	}
	ref, _ := refs[0].(map[string]any)
	name, _ := ref["name"].(string)
	return name
}

// managedLeft returns the ManagedResources that were created and still exist. One no longer
// exists if it is deleted and has no finalizer.
func (h history) managedLeft() []string {
	var left []string
	type course struct{ deleted, held, released bool }
	state := map[string]*course{}
	for _, one := range h.of(inSeed, managedResources) {
		if state[one.name] == nil || one.method == http.MethodPost {
			state[one.name] = &course{}
		}
		if one.method == http.MethodDelete {
			state[one.name].deleted = true
		}
		if one.result == nil || one.result.GetKind() != "ManagedResource" {
			continue
		}
		state[one.name].held = len(one.finalizers()) > 0
		if !state[one.name].held && one.result.GetDeletionTimestamp() != nil {
			state[one.name].released = true // even if another answer of that moment has finalizers
		}
	}
	for name, s := range state {
		if !s.released && (!s.deleted || s.held) {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left
}

// networkGoesLast: a Network keeps its finalizer until all its ManagedResources are deleted.
func networkGoesLast(h history, one *write, s *scenario) string {
	if !one.is(inSeed, networks) || one.subresource != "" || s.forced || one.result == nil ||
		slices.Contains(one.finalizers(), extensionsv1alpha1.NetworkFinalizer) {
		return ""
	}
	before := h.before(one)
	previous := before.of(inSeed, networks).last()
	if previous == nil || !slices.Contains(previous.finalizers(), extensionsv1alpha1.NetworkFinalizer) {
		return ""
	}
	if left := before.managedLeft(); len(left) > 0 {
		return fmt.Sprintf("the Network's finalizer was removed while the ManagedResources %v exist", left)
	}
	return ""
}

// secretsInUseStay: a Secret exists as long as its ManagedResource refers to it and is not
// being deleted. The history does not have the writes of the test itself.
func secretsInUseStay(h history, one *write, s *scenario) string {
	if !one.is(inSeed, secrets) || one.method != http.MethodDelete || s.withoutNetwork {
		return ""
	}
	owner := strings.TrimPrefix(one.name[:max(0, strings.LastIndex(one.name, "-"))], "managedresource-")
	all := h.before(one).of(inSeed, managedResources).named(owner)
	if slices.ContainsFunc(all, func(w *write) bool { return w.method == http.MethodDelete && w.began > lastCreation(all) }) {
		return ""
	}
	if len(all) == 0 {
		return ""
	}
	mr := all[len(all)-1]
	if mr.result == nil || mr.result.GetDeletionTimestamp() != nil || secretOf(mr.result) != one.name {
		return ""
	}
	return "a Secret was deleted while its ManagedResource refers to it"
}

func lastCreation(h history) int {
	at := 0
	for _, one := range h {
		if one.method == http.MethodPost {
			at = one.began
		}
	}
	return at
}

// keptBeforeDeleted: a migration deletes a ManagedResource for the shoot only after it has set
// keepObjects.
func keptBeforeDeleted(h history, one *write, _ *scenario) string {
	if !one.is(inSeed, managedResources) || one.method != http.MethodDelete || strings.HasSuffix(one.name, "-seed") {
		return ""
	}
	before := h.before(one)
	network := before.of(inSeed, networks).last()
	if network == nil || text(network.result, "status", "lastOperation", "type") != "Migrate" {
		return ""
	}
	mr := before.of(inSeed, managedResources).named(one.name).last()
	if mr == nil {
		return ""
	}
	if keep, _, _ := unstructured.NestedBool(mr.result.Object, "spec", "keepObjects"); !keep {
		return "a migration deleted a ManagedResource without keepObjects"
	}
	return ""
}

// specIsTheUsers: only the user writes to the spec of a Network.
func specIsTheUsers(h history, one *write, _ *scenario) string {
	if !one.is(inSeed, networks) || one.result == nil || one.result.GetKind() != "Network" {
		return ""
	}
	fields, _, _ := unstructured.NestedSlice(one.result.Object, "metadata", "managedFields")
	for _, each := range fields {
		entry, _ := each.(map[string]any)
		_, spec, _ := unstructured.NestedFieldNoCopy(entry, "fieldsV1", "f:spec")
		if spec && entry["manager"] != userManager {
			return fmt.Sprintf("%v has written to the spec", entry["manager"])
		}
	}
	return ""
}

// unchanging returns the writes, from a place in the history on, that changed nothing. An
// undisturbed run has no such writes.
func (h history) unchanging(from int) []string {
	versions := map[string]string{}
	var found []string
	for i, one := range h {
		if !one.landed() || one.result == nil || one.method == http.MethodDelete {
			continue
		}
		if one.result.GetDeletionTimestamp() != nil && len(one.finalizers()) == 0 {
			continue // this write ended the object, and the answer is its last version
		}
		if version := one.result.GetResourceVersion(); version != "" && versions[one.key()] == version {
			if i >= from {
				found = append(found, one.String())
			}
		} else {
			versions[one.key()] = version
		}
	}
	return found
}

// owners returns the fields with more than one owner, of objects in the shoot and of the
// Network's status.
func (w *world) owners() []string {
	var found []string
	for name, object := range w.lastSeen {
		if !strings.HasPrefix(name, inShoot) && !strings.Contains(name, "Network ") {
			continue
		}
		type owned struct {
			manager string
			fields  *fieldpath.Set
		}
		var all []owned
		for _, entry := range object.GetManagedFields() {
			set := &fieldpath.Set{}
			if entry.FieldsV1 == nil || set.FromJSON(strings.NewReader(string(entry.FieldsV1.GetRawBytes()))) != nil {
				continue
			}
			all = append(all, owned{entry.Manager + " " + entry.Subresource, set.Leaves()})
		}
		for i := range all {
			for j := range i {
				if both := all[i].fields.Intersection(all[j].fields); !both.Empty() {
					found = append(found, fmt.Sprintf("%s: %s and %s both own %s", name, all[i].manager, all[j].manager, both))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}
