// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
)

// ImageTags returns the tags of the images that networks have without a replacement, by name: those
// of all plugins, and that of the probe. The tag is empty if plugins differ about it.
func (p *Pipeline) ImageTags() map[string]string {
	tags := map[string]string{}
	add := func(images plugin.Images) {
		for name, tag := range images.Tags() {
			if former, twice := tags[name]; twice && former != tag {
				tag = ""
			}
			tags[name] = tag
		}
	}
	for _, one := range p.plugins {
		add(one.Images)
	}
	add(probe.Images)
	return tags
}
