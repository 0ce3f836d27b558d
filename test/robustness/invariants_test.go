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

// broken are the invariants that a scenario breaks, whose writes begin at a place in
// the history. They hold for every run, however it was disturbed.
func (w *world) broken(s *scenario, from int) []string {
	h := w.written()
	var found []string
	for _, one := range h[from:] {
		if !one.landed() {
			continue
		}
		for _, rule := range []func(history, *write, *scenario) string{
			desiredStays, finalizerFirst, finalizerOfManagedResourceFirst, inventoryFirst, successIsTrue,
			networkGoesLast, secretsInUseStay, keptBeforeDeleted, specIsTheUsers,
		} {
			if problem := rule(h, one, s); problem != "" {
				found = append(found, fmt.Sprintf("%s\n\tat %s", problem, one))
			}
		}
	}
	return append(found, w.owners()...)
}

// desiredStays: what is wanted throughout is never deleted.
func desiredStays(_ history, one *write, s *scenario) string {
	if one.method != http.MethodDelete || one.cluster != inShoot || s.everythingGoes {
		return ""
	}
	_, name, _ := strings.Cut(one.name, "-")
	if slices.Contains(s.goes, name) {
		return ""
	}
	return "an object that is wanted is deleted"
}

// finalizerFirst: the Network has its finalizer before anything is made for it.
func finalizerFirst(h history, one *write, _ *scenario) string {
	makes := one.method == http.MethodPost && (one.resource == managedResources || one.resource == secrets) && one.cluster == inSeed
	if !makes {
		return ""
	}
	last := h.before(one).of(inSeed, networks).last()
	if last == nil || !slices.Contains(last.finalizers(), extensionsv1alpha1.NetworkFinalizer) {
		return "something is made for a Network without our finalizer"
	}
	return ""
}

// finalizerOfManagedResourceFirst: a ManagedResource has its finalizer before any
// object is made for it.
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
	return "an object is made for a ManagedResource without finalizer"
}

// makesObject reports whether a write made an object of a bundle.
func (w *write) makesObject() bool {
	return w.code == http.StatusCreated && w.method == http.MethodPatch
}

// inventoryFirst: an object is in the inventory before it is made.
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
	return "an object is made that no inventory has"
}

// inventoryHas reports whether the status that a write of a ManagedResource returned
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

// successIsTrue: a Network says Succeeded only once what it says is so.
func successIsTrue(h history, one *write, s *scenario) string {
	if !one.is(inSeed, networks) || one.result == nil ||
		text(one.result, "status", "lastOperation", "state") != "Succeeded" || one.subresource != "status" {
		return ""
	}
	before := h.before(one)
	if previous := before.of(inSeed, networks).last(); previous != nil &&
		text(previous.result, "status", "lastOperation", "lastUpdateTime") == text(one.result, "status", "lastOperation", "lastUpdateTime") &&
		text(previous.result, "status", "lastOperation", "state") == "Succeeded" {
		return "" // it was said earlier
	}
	switch text(one.result, "status", "lastOperation", "type") {
	case "Delete", "Migrate":
		if left := before.managedLeft(); len(left) > 0 && !s.forced {
			return fmt.Sprintf("Succeeded while there are the ManagedResources %v", left)
		}
		return ""
	}
	mr := before.of(inSeed, managedResources).named(mainBundle).last()
	switch {
	case mr == nil:
		return "Succeeded without a ManagedResource"
	case secretOf(mr.result) != secretInState(one.result, mainBundle):
		return "Succeeded while the ManagedResource refers to another Secret"
	case !isApplied(mr.result):
		return "Succeeded before the content is applied"
	}
	return ""
}

// secretInState returns the Secret of a bundle as the state of a Network has it.
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

// isApplied reports whether a ManagedResource reports to be applied as it is now.
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

// managedLeft are the ManagedResources that were made and are not gone: deleted,
// and released by the managers that held them.
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
			state[one.name].released = true // whatever else was answered at that moment
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

// networkGoesLast: the finalizer of a Network stays as long as there is anything
// of it.
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
		return fmt.Sprintf("the Network's finalizer goes while there are the ManagedResources %v", left)
	}
	return ""
}

// secretsInUseStay: a Secret stays as long as its ManagedResource refers to it and is
// not being deleted. What the test itself writes is in no history.
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
	return "a Secret is deleted that its ManagedResource refers to"
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

// keptBeforeDeleted: a ManagedResource for the shoot is deleted by a migration only
// after it was told to keep its objects.
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
		return "a migration deletes a ManagedResource that does not keep its objects"
	}
	return ""
}

// specIsTheUsers: nothing but the user raises the generation of a Network.
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

// unchanging are the writes from a place in the history on that changed nothing,
// which an undisturbed run has none of.
func (h history) unchanging(from int) []string {
	versions := map[string]string{}
	var found []string
	for i, one := range h {
		if !one.landed() || one.result == nil || one.method == http.MethodDelete {
			continue
		}
		if one.result.GetDeletionTimestamp() != nil && len(one.finalizers()) == 0 {
			continue // it is gone thereby, and the answer is its last version
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

// owners says which fields, of objects in the shoot and of the Network's status,
// have more than one owner.
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
