// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// configKind is the kind of every plugin's providerConfig.
const configKind = "NetworkConfig"

// decodeStrict decodes raw into config. Fields are case-sensitive, unknown and
// duplicate ones are errors. apiVersion and kind may be missing or empty: some
// of Gardener's admission plugins write configs without them.
func decodeStrict(raw []byte, config any, versions []schema.GroupVersion, path *field.Path) field.ErrorList {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] != '{' {
		return field.ErrorList{field.TypeInvalid(orRoot(path), abbreviate(raw), "must be an object")}
	}
	if errs := checkTypeMeta(raw, versions, path); len(errs) > 0 {
		return errs
	}
	strict, err := kjson.UnmarshalStrict(raw, config)
	var errs field.ErrorList
	if err != nil {
		errs = append(errs, decodingError(err, raw, path))
	}
	for _, s := range strict {
		errs = append(errs, strictError(s, path))
	}
	return errs
}

func checkTypeMeta(raw []byte, versions []schema.GroupVersion, path *field.Path) field.ErrorList {
	var meta metav1.TypeMeta
	if err := json.Unmarshal(raw, &meta); err != nil {
		return field.ErrorList{decodingError(err, raw, path)}
	}
	allowed := make([]string, 0, len(versions))
	for _, v := range versions {
		allowed = append(allowed, v.String())
	}
	var errs field.ErrorList
	if meta.APIVersion != "" && !slices.Contains(allowed, meta.APIVersion) {
		errs = append(errs, field.NotSupported(path.Child("apiVersion"), meta.APIVersion, allowed))
	}
	if meta.Kind != "" && meta.Kind != configKind {
		errs = append(errs, field.NotSupported(path.Child("kind"), meta.Kind, []string{configKind}))
	}
	return errs
}

// decodingError turns an error of the JSON decoder into one that names the
// field, what stands there, and what is allowed.
func decodingError(err error, raw []byte, path *field.Path) *field.Error {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		detail := fmt.Sprintf("must be %s, not %s", jsonName(wrongType.Type.Kind().String()), article(wrongType.Value))
		if wrongType.Type.Kind().String() == "string" {
			detail += "; write it in quotes"
		}
		return field.TypeInvalid(join(path, wrongType.Field), valueAt(raw, wrongType.Field, wrongType.Value), detail)
	}
	return field.Invalid(orRoot(path), abbreviate(raw), "cannot be decoded: "+err.Error())
}

// strictError turns an unknown or duplicate field into an error at its path.
func strictError(err error, path *field.Path) *field.Error {
	where := ""
	if fe, ok := err.(kjson.FieldError); ok {
		where = fe.FieldPath()
	}
	name := where[strings.LastIndex(where, ".")+1:]
	if strings.HasPrefix(err.Error(), "duplicate") {
		return field.Duplicate(join(path, where), name)
	}
	return field.Invalid(join(path, where), name, "is not a field of "+configKind+"; names are case-sensitive")
}

// encode writes config with the first version's apiVersion and the kind.
func encode(config any, versions []schema.GroupVersion) ([]byte, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	document["apiVersion"], document["kind"] = versions[0].String(), configKind
	return json.Marshal(document)
}

func join(path *field.Path, rest string) *field.Path {
	for _, name := range strings.FieldsFunc(rest, func(r rune) bool { return r == '.' }) {
		path = path.Child(name)
	}
	return orRoot(path)
}

func orRoot(path *field.Path) *field.Path {
	if path == nil {
		return field.NewPath("providerConfig")
	}
	return path
}

// valueAt returns what stands at the dotted path, or the fallback.
func valueAt(raw []byte, dotted, fallback string) any {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return fallback
	}
	for _, name := range strings.Split(dotted, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return fallback
		}
		value = object[name]
	}
	switch value.(type) {
	case string, bool, float64:
		return value
	}
	return fallback
}

// abbreviate keeps an error message readable when somebody sends a megabyte.
func abbreviate(raw []byte) string {
	const most = 64
	if len(raw) <= most {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:most]), "") + "…"
}

func jsonName(goKind string) string {
	switch goKind {
	case "struct", "map", "pointer", "ptr":
		return "an object"
	case "slice", "array":
		return "a list"
	case "bool":
		return "true or false"
	case "string":
		return "a string"
	default:
		return "a number"
	}
}

func article(value string) string {
	switch {
	case value == "":
		return "this"
	case strings.HasPrefix(value, "number"):
		return "a number"
	case value == "object" || value == "array":
		return "an " + value
	case value == "bool":
		return "true or false"
	default:
		return "a " + value
	}
}
