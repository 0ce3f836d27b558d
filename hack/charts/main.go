// SPDX-License-Identifier: Apache-2.0

// Command charts writes what Gardener and Helm install Trellis from:
//
//	go run ./hack/charts -o bin/charts -registry ghcr.io/trellis-network -tag v0.1.0
//
// It packs each chart of the folder charts, and writes:
//
//   - controllerregistration.yaml, a ControllerDeployment with the operator's chart in it, and a
//     ControllerRegistration, for the garden of a landscape;
//   - extension.yaml, an Extension for Gardener's operator, which takes the charts from the registry.
//
// The same sources and tag make the same files. The folders of the charts are not complete: only the
// packed charts have the rights, CRDs and policies in config.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	var options packing
	var out string
	flag.StringVar(&out, "o", "bin/charts", "the directory for the charts")
	flag.StringVar(&options.registry, "registry", "", "the beginning of the names of the images, and of those of the charts before /charts")
	flag.StringVar(&options.tag, "tag", "", "the tag of the images; without its v it is the charts' version")
	flag.Parse()
	if err := options.write(out); err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		os.Exit(1)
	}
}

// folder has the charts.
const folder = "charts"

// The charts, by their folders in folder.
var (
	operatorChart    = "trellis-operator"
	applicationChart = filepath.Join("trellis-admission", "application")
	runtimeChart     = filepath.Join("trellis-admission", "runtime")
)
