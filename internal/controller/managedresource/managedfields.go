// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trellis-network/trellis/internal/jsoncost"
)

// maxManagers is how many entries the managedFields of an object may have, and maxDepth how many
// fields may be in each other there. The time that ownership takes grows with the square of both, and
// a hostile API server answers what it likes.
const maxManagers, maxDepth = 200, 100

// ownership states which manager owns which fields of an object after takeOwnership.
type ownership struct {
	// entries are what managedFields must be, so that applying the object removes
	// what others set and may not set.
	entries []metav1.ManagedFieldsEntry
	// moved reports whether entries differ from what the object has.
	moved bool
	// ours and others are the fields that each owns in entries.
	ours, others *fieldpath.Set
}

// takeOwnership gives us all fields that others own and that are no exceptions.
// Server-side apply alone never removes a field that another manager owns, nor one that
// was ours under another manager's name, as after Gardener's resource manager or kubectl.
// Once the field is ours, applying the object without it removes it.
//
// Subresources are left alone: the status, and the scale. So are fields that came with
// our own requests, from admission webhooks, which would set them again each time.
func takeOwnership(live *unstructured.Unstructured, allowed *exceptions) (*ownership, error) {
	o := &ownership{ours: &fieldpath.Set{}, others: &fieldpath.Set{}}
	own := metav1.ManagedFieldsEntry{
		Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: live.GetAPIVersion(), FieldsType: "FieldsV1",
	}
	taken := &fieldpath.Set{}
	entries := live.GetManagedFields()
	if len(entries) > maxManagers {
		return nil, fmt.Errorf("its managedFields have %d entries; at most %d are allowed", len(entries), maxManagers)
	}
	for _, entry := range entries {
		fields, err := decodeFields(&entry)
		if err != nil {
			return nil, err
		}
		if entry.Manager == FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			own, o.ours = entry, fields
			continue
		}
		if entry.Manager == FieldManager || entry.Subresource != "" || entry.APIVersion != live.GetAPIVersion() {
			o.entries, o.others = append(o.entries, entry), o.others.Union(fields)
			continue
		}
		kept, forbidden := divide(fields, allowed)
		if taken = taken.Union(forbidden); kept.Empty() {
			continue
		}
		if !forbidden.Empty() {
			if entry.FieldsV1, err = encodeFields(kept); err != nil {
				return nil, err
			}
		}
		o.entries, o.others = append(o.entries, entry), o.others.Union(kept)
	}
	if o.moved = !taken.Empty(); o.moved {
		var err error
		o.ours = o.ours.Union(taken)
		if own.FieldsV1, err = encodeFields(o.ours); err != nil {
			return nil, err
		}
	}
	if !o.ours.Empty() {
		o.entries = append(o.entries, own)
	}
	return o, nil
}

// onlyOurs reports whether we alone own the field at a path, as for
// fieldpath.MakePathOrDie. Applying the object without such a field removes it.
func (o *ownership) onlyOurs(parts ...any) bool {
	path := fieldpath.MakePathOrDie(parts...)
	return o.ours.Has(path) && !o.others.Has(path)
}

// patch returns the merge patch of the metadata that makes managedFields what they must
// be. It fails with a conflict if the object has changed since.
func (o *ownership) patch(live *unstructured.Unstructured) ([]byte, error) {
	return json.Marshal(map[string]any{"resourceVersion": live.GetResourceVersion(), "managedFields": o.entries})
}

func divide(fields *fieldpath.Set, allowed *exceptions) (kept, forbidden *fieldpath.Set) {
	kept, forbidden = &fieldpath.Set{}, &fieldpath.Set{}
	fields.Iterate(func(path fieldpath.Path) {
		if allowed.allows(path) {
			kept.Insert(path.Copy())
		} else {
			forbidden.Insert(path.Copy())
		}
	})
	return kept, forbidden
}

func decodeFields(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return set, nil
	}
	scanner := jsoncost.Scanner{}
	if _, err := scanner.Scan(entry.FieldsV1.GetRawBytes()); err != nil || scanner.Depth > maxDepth {
		return nil, fmt.Errorf("the managed fields of %s have more than %d fields in each other, or too many", entry.Manager, maxDepth)
	}
	if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("the managed fields of %s cannot be read: %w", entry.Manager, err)
	}
	return set, nil
}

func encodeFields(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	raw, err := set.ToJSON()
	if err != nil {
		return nil, err
	}
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes(raw)
	return fields, nil
}
