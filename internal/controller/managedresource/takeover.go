// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ownership is what an object's managedFields say, seen from us.
type ownership struct {
	// entries are what managedFields must be, so that applying the object removes
	// what others have set and may not set.
	entries []metav1.ManagedFieldsEntry
	// moved says that entries differ from what the object has.
	moved bool
	// ours and others are the fields that each own in entries.
	ours, others *fieldpath.Set
}

// takeOver gives to us all fields that others own and that tolerance does not
// allow them. Server-side apply alone never removes a field that somebody else
// has set, nor one that was ours under another manager's name, as after Gardener's
// resource manager or kubectl. Once the field is ours, applying the object
// without it removes it.
//
// Subresources are left alone: the status, and the scale. So are the fields that
// came with requests of our own, by admission webhooks: those would set them
// again each time.
func takeOver(live *unstructured.Unstructured, allowed *tolerance) (*ownership, error) {
	o := &ownership{ours: &fieldpath.Set{}, others: &fieldpath.Set{}}
	var own *metav1.ManagedFieldsEntry
	taken := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			own = entry.DeepCopy()
			continue
		}
		fields, err := decodeFields(&entry)
		if err != nil {
			return nil, err
		}
		if entry.Manager == FieldManager || entry.Subresource != "" || entry.APIVersion != live.GetAPIVersion() {
			o.entries = append(o.entries, entry)
			o.others = o.others.Union(fields)
			continue
		}
		kept, forbidden := divide(fields, allowed)
		taken = taken.Union(forbidden)
		if kept.Empty() {
			continue
		}
		o.others = o.others.Union(kept)
		if !forbidden.Empty() {
			if entry.FieldsV1, err = encodeFields(kept); err != nil {
				return nil, err
			}
		}
		o.entries = append(o.entries, entry)
	}
	o.moved = !taken.Empty()
	if own == nil {
		own = &metav1.ManagedFieldsEntry{
			Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: live.GetAPIVersion(), FieldsType: "FieldsV1",
		}
	}
	return o, o.add(own, taken)
}

// add completes entries by our own.
func (o *ownership) add(own *metav1.ManagedFieldsEntry, taken *fieldpath.Set) error {
	fields, err := decodeFields(own)
	if err != nil {
		return err
	}
	o.ours = fields.Union(taken)
	if o.moved {
		if own.FieldsV1, err = encodeFields(o.ours); err != nil {
			return err
		}
	}
	if !o.ours.Empty() {
		o.entries = append(o.entries, *own)
	}
	return nil
}

// onlyOurs says whether nobody but us owns a field. Such a field has to be stated
// as it is to be left as it is: not to state it removes it.
func (o *ownership) onlyOurs(path fieldpath.Path) bool {
	return o.ours.Has(path) && !o.others.Has(path)
}

// patch returns the merge patch that makes managedFields what they must be. It
// fails with a conflict if the object has changed since.
func (o *ownership) patch(live *unstructured.Unstructured) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": live.GetResourceVersion(),
		"managedFields":   o.entries,
	}})
}

func divide(fields *fieldpath.Set, allowed *tolerance) (kept, forbidden *fieldpath.Set) {
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
