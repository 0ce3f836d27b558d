// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"sigs.k8s.io/yaml"
)

// Image is a rendered image.
type Image struct{ Repository, Tag string }

// Reference is what pods name it.
func (i Image) Reference() string { return i.Repository + ":" + i.Tag }

// ReadTags reads the images of the images.yaml of a plugin, by their names.
func ReadTags(file string) (map[string]Image, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w; run this in the root of a checkout of Trellis", err)
	}
	var all []struct{ Name, Repository, Tag string }
	if err := yaml.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	images := map[string]Image{}
	for _, each := range all {
		images[each.Name] = Image{each.Repository, each.Tag}
	}
	return images, nil
}

// Description is what sandbox/cmd/image-archive reads.
type Description struct {
	Reference  string            `json:"reference"`
	Files      map[string]string `json:"files"`
	Tools      []string          `json:"tools,omitempty"`
	Plugins    []string          `json:"plugins,omitempty"`
	Links      map[string]string `json:"links,omitempty"`
	Modes      map[string]string `json:"modes,omitempty"`
	Entrypoint []string          `json:"entrypoint"`
	User       string            `json:"user,omitempty"`
	Env        []string          `json:"env,omitempty"`
}

// Write writes the archive of the image with program, which is the sandbox's image-archive.
func (d Description) Write(ctx context.Context, program, archive string) error {
	content, err := json.Marshal(d)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, archive)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(content), os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the image %s: %w", d.Reference, err)
	}
	return nil
}

// Archiver is the step that compiles the program of Write. It runs in the root of a checkout of Trellis.
func Archiver(program string) Step {
	return Step{
		Name: "compile what writes images", Dir: "sandbox", Env: []string{"CGO_ENABLED=0", "GOWORK=off"},
		Command: []string{"go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/image-archive"},
	}
}
