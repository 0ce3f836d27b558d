// SPDX-License-Identifier: Apache-2.0

// Package versions has the versions of the components in this program.
package versions

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// modules maps the components whose versions users ask for to their Go modules.
var modules = []struct{ name, path string }{
	{"Kubernetes", "k8s.io/kubernetes"},
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"kwok", "sigs.k8s.io/kwok"},
}

// Text returns a line for each component and one for Go.
func Text() string {
	found := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			found[module.Path] = module.Version
		}
	}
	text := ""
	for _, module := range modules {
		text += fmt.Sprintf("%-10s %s\n", module.name, found[module.path])
	}
	return text + fmt.Sprintf("%-10s %s %s/%s", "Go", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
