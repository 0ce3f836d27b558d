// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Constant is an object that is the same in every network of a plugin: the
// definition of a kind, an identity, a role. It is encoded once, when it is made,
// and can be handed out to any number of goroutines, since it cannot be changed:
// getters give copies, and setters panic. To change the object or to look into it, call
// DeepCopyObject, which gives an object like the one that the Constant was made of.
type Constant struct {
	object   Object
	typeMeta metav1.TypeMeta
	document []byte
}

var _ Object = (*Constant)(nil)

// NewConstant makes a Constant that is like object is now. It panics on an object
// that cannot be encoded: plugins make constants while the program starts.
func NewConstant(object Object) *Constant {
	own := object.DeepCopyObject().(Object)
	document, err := AppendJSON(nil, own)
	if err != nil {
		panic(err)
	}
	apiVersion, kind := own.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return &Constant{object: own, typeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, document: slices.Clip(document)}
}

// Constants makes constants of objects that are the same in every network: definitions
// of kinds, identities, rights, Services. Workloads cannot be among them, since the
// pipeline changes those, and no object that anything of a config or the facts stands
// in. No append writes into the result.
func Constants(objects ...Object) []Object {
	constants := make([]Object, 0, len(objects))
	for _, object := range objects {
		constants = append(constants, NewConstant(object))
	}
	return constants
}

// MarshalJSON returns the document that AppendJSON appends.
func (c *Constant) MarshalJSON() ([]byte, error) { return slices.Clone(c.document), nil }

// DeepCopyObject returns a copy of what the Constant was made of.
func (c *Constant) DeepCopyObject() runtime.Object { return c.object.DeepCopyObject() }

// GetObjectKind returns a copy of the object's apiVersion and kind.
func (c *Constant) GetObjectKind() schema.ObjectKind { meta := c.typeMeta; return &meta }

// The getters of an object's metadata.

func (c *Constant) GetNamespace() string              { return c.object.GetNamespace() }
func (c *Constant) GetName() string                   { return c.object.GetName() }
func (c *Constant) GetGenerateName() string           { return c.object.GetGenerateName() }
func (c *Constant) GetUID() types.UID                 { return c.object.GetUID() }
func (c *Constant) GetResourceVersion() string        { return c.object.GetResourceVersion() }
func (c *Constant) GetGeneration() int64              { return c.object.GetGeneration() }
func (c *Constant) GetSelfLink() string               { return c.object.GetSelfLink() }
func (c *Constant) GetLabels() map[string]string      { return maps.Clone(c.object.GetLabels()) }
func (c *Constant) GetAnnotations() map[string]string { return maps.Clone(c.object.GetAnnotations()) }
func (c *Constant) GetFinalizers() []string           { return slices.Clone(c.object.GetFinalizers()) }
func (c *Constant) GetCreationTimestamp() metav1.Time { return c.object.GetCreationTimestamp() }
func (c *Constant) GetDeletionTimestamp() *metav1.Time {
	return c.object.GetDeletionTimestamp().DeepCopy()
}
func (c *Constant) GetDeletionGracePeriodSeconds() *int64 {
	return c.copy().GetDeletionGracePeriodSeconds()
}
func (c *Constant) GetOwnerReferences() []metav1.OwnerReference { return c.copy().GetOwnerReferences() }
func (c *Constant) GetManagedFields() []metav1.ManagedFieldsEntry {
	return c.copy().GetManagedFields()
}

// The setters of an object's metadata.

func (c *Constant) SetNamespace(string)                          { c.refuse() }
func (c *Constant) SetName(string)                               { c.refuse() }
func (c *Constant) SetGenerateName(string)                       { c.refuse() }
func (c *Constant) SetUID(types.UID)                             { c.refuse() }
func (c *Constant) SetResourceVersion(string)                    { c.refuse() }
func (c *Constant) SetGeneration(int64)                          { c.refuse() }
func (c *Constant) SetSelfLink(string)                           { c.refuse() }
func (c *Constant) SetLabels(map[string]string)                  { c.refuse() }
func (c *Constant) SetAnnotations(map[string]string)             { c.refuse() }
func (c *Constant) SetFinalizers([]string)                       { c.refuse() }
func (c *Constant) SetCreationTimestamp(metav1.Time)             { c.refuse() }
func (c *Constant) SetDeletionTimestamp(*metav1.Time)            { c.refuse() }
func (c *Constant) SetDeletionGracePeriodSeconds(*int64)         { c.refuse() }
func (c *Constant) SetOwnerReferences([]metav1.OwnerReference)   { c.refuse() }
func (c *Constant) SetManagedFields([]metav1.ManagedFieldsEntry) { c.refuse() }

func (c *Constant) copy() Object { return c.object.DeepCopyObject().(Object) }

func (c *Constant) refuse() {
	panic(fmt.Sprintf("%s %s is a plugin.Constant, which cannot be changed; change its DeepCopyObject instead",
		c.typeMeta.Kind, c.object.GetName()))
}
