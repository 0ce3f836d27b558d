// Package versions tells what this program is made of.
package versions

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// modules are what users ask for, by the module that brings it.
var modules = []struct{ name, path string }{
	{"Kubernetes", "k8s.io/kubernetes"},
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"kwok", "sigs.k8s.io/kwok"},
}

// Text has a line for each of the components and for Go.
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
