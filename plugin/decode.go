// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/internal/strictjson"
)

const (
	// configKind is the kind of every plugin's providerConfig.
	configKind = "NetworkConfig"
	// maxErrors is how many errors of one config are reported.
	maxErrors = 100
)

// decodeStrict decodes raw into config. Fields are case-sensitive, unknown and
// duplicate ones are errors. apiVersion and kind may be missing or empty: some
// of Gardener's admission plugins write configs without them.
//
// What is right is decided by sigs.k8s.io/json alone, as in an API server. What
// is wrong is then looked for, all of it.
func decodeStrict(raw []byte, config any, versions []schema.GroupVersion, path *field.Path) field.ErrorList {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	strict, err := kjson.UnmarshalStrict(raw, config)
	if err == nil && len(strict) == 0 {
		return checkTypeMeta(raw, versions, path)
	}
	if err != nil {
		decodeEach(raw, config)
	}
	if path == nil {
		path = field.NewPath("providerConfig")
	}
	errs := explain(raw, reflect.TypeOf(config), versions, path)
	if len(errs) == 0 {
		errs = field.ErrorList{field.Invalid(path, fielderror.AbbreviateJSON(raw), fmt.Sprintf("cannot be decoded: %v", firstOf(err, strict)))}
	}
	return errs
}

// decodeEach decodes the fields of raw on their own: a value that refuses to be decoded, such as a
// quantity, ends the decoding of all that follows it.
func decodeEach(raw []byte, config any) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return // what is no object has no fields
	}
	for name, value := range fields {
		if one, err := json.Marshal(map[string]json.RawMessage{name: value}); err == nil {
			_ = kjson.UnmarshalCaseSensitivePreserveInts(one, config) // errors are reported for the whole
		}
	}
}

func firstOf(err error, others []error) error {
	if err == nil {
		return others[0]
	}
	return err
}

// explain finds all that is wrong with a config that could not be decoded.
func explain(raw []byte, t reflect.Type, versions []schema.GroupVersion, path *field.Path) field.ErrorList {
	var value any
	duplicates, err := kjson.UnmarshalStrict(raw, &value, kjson.DisallowDuplicateFields)
	if err != nil {
		return field.ErrorList{field.Invalid(path, fielderror.Abbreviate(string(raw)), "cannot be decoded: "+err.Error())}
	}
	errs := strictjson.Check(path, raw, t, strictjson.RefuseUnknown)
	for _, duplicate := range duplicates {
		errs = append(errs, duplicateError(duplicate, path))
	}
	errs = append(errs, checkTypeMeta(raw, versions, path)...)
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	if more := len(errs) - maxErrors; more > 0 {
		// Without the value, since what else is in the config makes no other error of it.
		errs = append(errs[:maxErrors], field.TypeInvalid(path, field.OmitValueType{}, fmt.Sprintf("has %d more errors", more)))
	}
	return errs
}

func duplicateError(err error, path *field.Path) *field.Error {
	where := ""
	if fe, ok := err.(kjson.FieldError); ok {
		where = fe.FieldPath()
	}
	name := where[strings.LastIndex(where, ".")+1:]
	return field.Duplicate(path.Child(fielderror.Abbreviate(where)), fielderror.Abbreviate(name))
}

// checkTypeMeta checks apiVersion and kind, as far as they are strings.
func checkTypeMeta(raw []byte, versions []schema.GroupVersion, path *field.Path) field.ErrorList {
	var meta metav1.TypeMeta
	// An error has been reported by now, and what can be decoded has been.
	_ = kjson.UnmarshalCaseSensitivePreserveInts(raw, &meta)
	allowed := make([]string, 0, len(versions))
	for _, v := range versions {
		allowed = append(allowed, v.String())
	}
	var errs field.ErrorList
	if meta.APIVersion != "" && !slices.Contains(allowed, meta.APIVersion) {
		errs = append(errs, field.NotSupported(path.Child("apiVersion"), fielderror.Abbreviate(meta.APIVersion), allowed))
	}
	if meta.Kind != "" && meta.Kind != configKind {
		errs = append(errs, field.NotSupported(path.Child("kind"), fielderror.Abbreviate(meta.Kind), []string{configKind}))
	}
	return errs
}

// encode writes config with the first version's apiVersion and the kind.
func encode(config any, versions []schema.GroupVersion) ([]byte, error) {
	typed, ok := config.(interface{ GetObjectKind() schema.ObjectKind })
	if !ok {
		return nil, fmt.Errorf("%T does not embed metav1.TypeMeta", config)
	}
	meta := typed.GetObjectKind()
	was := meta.GroupVersionKind()
	defer meta.SetGroupVersionKind(was)
	meta.SetGroupVersionKind(versions[0].WithKind(configKind))
	return json.Marshal(config)
}
