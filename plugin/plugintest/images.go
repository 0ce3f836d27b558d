// SPDX-License-Identifier: Apache-2.0

package plugintest

import "strings"

// images: what runs is what was meant, tomorrow as well.
func images(s *suite, found *report) {
	for _, d := range s.documents() {
		w := s.workload(d)
		if w == nil {
			continue
		}
		for _, container := range containers(&w.Spec.Template.Spec) {
			name := container.Image[strings.LastIndex(container.Image, "/")+1:] // what is before may be a host with a port
			switch _, tag, _ := strings.Cut(name, ":"); {
			case container.Image == "":
				found.breach("container %s of %s has no image", container.Name, d)
			case strings.Contains(name, "@"): // a digest
			case tag == "":
				found.breach("container %s of %s has the image %q without a tag; write one into images.yaml", container.Name, d, container.Image)
			case tag == "latest":
				found.breach("container %s of %s has the image %q, which may be another one tomorrow; name a version", container.Name, d, container.Image)
			}
		}
	}
}
