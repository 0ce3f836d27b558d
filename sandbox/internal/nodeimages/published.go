// SPDX-License-Identifier: Apache-2.0

package nodeimages

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// published returns the reference that an images.yaml has for an image.
func published(file, name string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var images []struct{ Name, Repository, Tag string }
	if err := yaml.Unmarshal(content, &images); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	for _, image := range images {
		if image.Name == name {
			return image.Repository + ":" + image.Tag, nil
		}
	}
	return "", fmt.Errorf("%s has no image %s", file, name)
}
