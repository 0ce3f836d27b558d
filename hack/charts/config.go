// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"

	"github.com/trellis-network/trellis/config"
)

// fromConfig says which files of config a packed chart has, under the same paths: so the rights that
// tests compare with requests are those that are installed.
var fromConfig = map[string][]string{
	operatorChart:    {"rbac/*/operator.yaml", "rbac/gardener/*.yaml", "rbac/standalone/*.yaml", "crd/*.yaml", "policy/*.yaml"},
	applicationChart: {"rbac/admission/garden.yaml"},
	runtimeChart:     {"rbac/admission/namespace.yaml"},
}

// addConfig adds the files of config that a chart has.
func addConfig(files map[string][]byte, chart string) error {
	for _, pattern := range fromConfig[chart] {
		names, err := fs.Glob(config.Manifests, pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			if files[name], err = config.Manifests.ReadFile(name); err != nil {
				return err
			}
		}
	}
	return nil
}
