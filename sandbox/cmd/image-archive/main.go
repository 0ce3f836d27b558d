// SPDX-License-Identifier: Apache-2.0

// Command image-archive writes the archive of an image, without a container engine, from files
// and tools of this machine. `trellis-sandbox up --image` takes such archives:
//
//	image-archive ARCHIVE < DESCRIPTION
//
// The description is a nodeimages.Custom as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/trellis-network/trellis/sandbox/internal/nodeimages"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image-archive:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: image-archive ARCHIVE < DESCRIPTION")
	}
	description := json.NewDecoder(os.Stdin)
	description.DisallowUnknownFields()
	var image nodeimages.Custom
	if err := description.Decode(&image); err != nil {
		return fmt.Errorf("read the description: %w", err)
	}
	return image.Write(args[0])
}
