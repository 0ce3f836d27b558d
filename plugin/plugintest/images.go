// SPDX-License-Identifier: Apache-2.0

package plugintest

import "strings"

// images: what runs is what was meant, tomorrow as well.
func images(s *suite, found *report) {
	for _, d := range s.documents() {
		w, ok := d.workload()
		if !ok {
			continue
		}
		for _, container := range containers(&w.Spec.Template.Spec) {
			switch tag, digest := tagOf(container.Image); {
			case container.Image == "":
				found.breach("container %s of %s has no image", container.Name, d)
			case digest:
			case tag == "":
				found.breach("container %s of %s has the image %q without a tag; write one into images.yaml", container.Name, d, container.Image)
			case tag == "latest":
				found.breach("container %s of %s has the image %q, which may be another one tomorrow; name a version", container.Name, d, container.Image)
			}
		}
	}
}

// tagOf is the tag of a reference, and whether it has a digest.
func tagOf(image string) (tag string, digest bool) {
	image, _, digest = strings.Cut(image, "@")
	name := image[strings.LastIndex(image, "/")+1:] // what is before may be a host with a port
	_, tag, _ = strings.Cut(name, ":")
	return tag, digest
}
