// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Images are the container images of a plugin, by name.
type Images struct{ byName map[string]image }

type image struct{ repository, tag string }

// ParseImages reads a plugin's images.yaml, a list of name, repository and tag.
// It panics on a malformed document: the file is part of the program, and
// plugins parse it while the program starts.
func ParseImages(document []byte) Images {
	var list []struct {
		Name       string `json:"name"`
		Repository string `json:"repository"`
		Tag        string `json:"tag"`
	}
	if err := yaml.UnmarshalStrict(document, &list); err != nil {
		panic(fmt.Sprintf("images.yaml: %v", err))
	}
	images := Images{byName: make(map[string]image, len(list))}
	for _, entry := range list {
		if entry.Name == "" || entry.Repository == "" || entry.Tag == "" {
			panic(fmt.Sprintf("images.yaml: %+v lacks a name, repository or tag", entry))
		}
		images.byName[entry.Name] = image{entry.Repository, entry.Tag}
	}
	return images
}

// For returns the reference of the named image, replaced where the operator does.
// It panics on a name that images.yaml does not have.
func (i Images) For(name string, in *Input) string {
	if replaced := in.Images[name]; replaced != "" {
		return replaced
	}
	own, ok := i.byName[name]
	if !ok {
		panic(fmt.Sprintf("images.yaml has no image named %q", name))
	}
	return own.repository + ":" + own.tag
}

// Tags returns the tags of the images, by name.
func (i Images) Tags() map[string]string {
	tags := make(map[string]string, len(i.byName))
	for name, own := range i.byName {
		tags[name] = own.tag
	}
	return tags
}
