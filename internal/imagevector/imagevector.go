// SPDX-License-Identifier: Apache-2.0

// Package imagevector finds out which container images replace others in shoots: those of the
// operator's configuration, and those of a file in the format of Gardener's image vectors, which
// operators of landscapes give all extensions.
package imagevector

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/internal/strictjson"
)

// Variable is the environment variable with the path of the file, as Gardener's extensions have it.
const Variable = "IMAGEVECTOR_OVERWRITE"

// Resolve returns the references of images that replace others, by the name of the image: those
// stated at path, and for other names those of the file that Variable names, if it is set. Tags has
// the names of all images with the tag that each has without a replacement, which is empty if it
// depends on the plugin. The error names every entry that is malformed, or has a name that tags lacks,
// with what is allowed.
func Resolve(tags map[string]string, path *field.Path, stated map[string]string) (map[string]string, error) {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(stated)) {
		errs = append(errs, checkName(path.Key(name), name, tags)...)
		errs = append(errs, checkReference(path.Key(name), stated[name])...)
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("the configuration is invalid: %w", errs.ToAggregate())
	}
	file := os.Getenv(Variable)
	if file == "" {
		return stated, nil
	}
	document, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the image vector of $%s: %w", Variable, err)
	}
	images, err := read(document, tags)
	if err != nil {
		return nil, fmt.Errorf("the image vector %s of $%s is invalid: %w", file, Variable, err)
	}
	maps.Copy(images, stated)
	return images, nil
}

// maxSize is that of a ConfigMap, in bytes.
const maxSize = 1 << 20

// vector is an image vector.
type vector struct {
	Images []source `json:"images"`
}

// source is an entry of an image vector.
type source struct {
	Name       string  `json:"name"`
	Ref        *string `json:"ref,omitempty"`
	Repository *string `json:"repository,omitempty"`
	// Tag is a digest if it begins with sha256:. Without it the replaced image's tag counts.
	Tag            *string `json:"tag,omitempty"`
	RuntimeVersion *string `json:"runtimeVersion,omitempty"`
	TargetVersion  *string `json:"targetVersion,omitempty"`

	// These describe the image, and have no effect.
	Architectures    []string `json:"architectures,omitempty"`
	SourceRepository any      `json:"sourceRepository,omitempty"`
	Version          any      `json:"version,omitempty"`
	Labels           any      `json:"labels,omitempty"`
	ResourceID       any      `json:"resourceId,omitempty"`
}

// read returns the references of an image vector in YAML or JSON, by the name of the image.
func read(document []byte, tags map[string]string) (map[string]string, error) {
	document, err := strictjson.FromYAML(document, maxSize)
	if err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	if document[0] != '{' && string(document) != "null" {
		return nil, errors.New("it must be an object with the list images")
	}
	if errs := strictjson.Check(nil, document, reflect.TypeFor[vector](), strictjson.RefuseUnknown); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	var read vector
	if err := json.Unmarshal(document, &read); err != nil {
		return nil, err
	}
	images := map[string]string{}
	var errs field.ErrorList
	for i, entry := range read.Images {
		path := field.NewPath("images").Index(i)
		if wrong := entry.check(path, tags); len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		reference := entry.reference(tags)
		errs = append(errs, checkReference(path, reference)...)
		if former, twice := images[entry.Name]; twice && former != reference {
			errs = append(errs, field.Invalid(path, reference, fmt.Sprintf(
				"another entry replaces %s by %s: Trellis uses one image in all shoots, on nodes of all architectures; state one", entry.Name, former)))
		}
		images[entry.Name] = reference
	}
	return images, errs.ToAggregate()
}

// check returns what is wrong with an entry, but for the spelling of its reference.
func (s *source) check(path *field.Path, tags map[string]string) (errs field.ErrorList) {
	errs = checkName(path.Child("name"), s.Name, tags)
	for _, version := range []struct {
		field string
		value *string
	}{{"runtimeVersion", s.RuntimeVersion}, {"targetVersion", s.TargetVersion}} {
		if version.value != nil {
			errs = append(errs, field.Forbidden(path.Child(version.field), "Trellis uses one image in shoots of all versions of Kubernetes; leave the field out"))
		}
	}
	switch {
	case s.Ref != nil && (s.Repository != nil || s.Tag != nil):
		errs = append(errs, field.Forbidden(path.Child("ref"), "has the repository and the tag already; state either ref, or repository and tag"))
	case s.Ref == nil && s.Repository == nil:
		errs = append(errs, field.Required(path.Child("repository"), "state the repository and the tag of the image, or its ref"))
	case s.Ref == nil && s.Tag == nil && tags[s.Name] == "" && len(errs) == 0:
		errs = append(errs, field.Required(path.Child("tag"), "the plugins use this image with several tags; state one"))
	}
	return errs
}

// reference returns the reference of an entry that is checked.
func (s *source) reference(tags map[string]string) string {
	if s.Ref != nil {
		return *s.Ref
	}
	tag := tags[s.Name]
	if s.Tag != nil {
		tag = *s.Tag
	}
	if strings.HasPrefix(tag, "sha256:") {
		return *s.Repository + "@" + tag
	}
	return *s.Repository + ":" + tag
}

// checkName refuses names that no image has, which would have no effect.
func checkName(path *field.Path, name string, tags map[string]string) field.ErrorList {
	if _, known := tags[name]; known {
		return nil
	}
	return field.ErrorList{field.Invalid(path, fielderror.Abbreviate(name),
		"is not the name of an image; there are "+fielderror.Choices(slices.Sorted(maps.Keys(tags)), name))}
}

// checkReference refuses references that no node could pull, and those without a tag or digest: what
// they mean changes with time.
func checkReference(path *field.Path, reference string) field.ErrorList {
	parsed, err := name.ParseReference(reference, name.WithDefaultTag(""))
	if err == nil && parsed.Identifier() != "" {
		return nil
	}
	return field.ErrorList{field.Invalid(path, fielderror.Abbreviate(reference),
		"is not a reference of an image; write it as registry/repository:tag or registry/repository@sha256:digest")}
}
