// SPDX-License-Identifier: Apache-2.0

// Command rbac writes the rights in config/rbac from the markers in the code that uses them:
//
//	go run ./hack/rbac ./admission/... ./internal/... ./operator/... ./providers/...
//
// A marker is a comment as those of controller-gen, whose roleName is a file below config/rbac without its ending:
//
//	// +kubebuilder:rbac:roleName=standalone/operator,groups=core.gardener.cloud,resources=shoots,verbs=list;watch;patch
//
// What precedes the rules in a file, its comment and the name of the role, is written by hand.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
)

func main() {
	if err := run(filepath.Join("config", "rbac"), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rbac:", err)
		os.Exit(1)
	}
}

// run writes the rules of all files in a folder.
func run(folder string, packages []string) error {
	roles, err := rolesIn(packages)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, folder+string(filepath.Separator)), ".yaml")
		if len(roles[name]) == 0 {
			return fmt.Errorf("%s: no marker has the roleName %s; delete the file if nothing needs these rights", file, name)
		}
		if err := write(file, roles[name]); err != nil {
			return err
		}
		delete(roles, name)
	}
	for name := range roles {
		return fmt.Errorf("a marker has the roleName %s, but there is no file %s.yaml with the name of the role", name, filepath.Join(folder, name))
	}
	return nil
}

// rolesIn returns the rules that the markers in packages state, by their roleName.
func rolesIn(packages []string) (map[string][]rbacv1.PolicyRule, error) {
	generator := genall.Generator(rbac.Generator{})
	runtime, err := genall.Generators{&generator}.ForRoots(packages...)
	if err != nil {
		return nil, err
	}
	for _, root := range runtime.Roots { // an error would be lost otherwise
		if _, err := markers.PackageMarkers(runtime.Collector, root); err != nil {
			return nil, fmt.Errorf("%s: %w", root.PkgPath, err)
		}
	}
	objects, err := rbac.GenerateRoles(&runtime.GenerationContext, "")
	if err != nil {
		return nil, err
	}
	roles := map[string][]rbacv1.PolicyRule{}
	for _, object := range objects {
		role, ok := object.(rbacv1.ClusterRole)
		if !ok || role.Name == "" {
			return nil, fmt.Errorf("a marker of rights needs a roleName, and no namespace: %+v", object)
		}
		roles[role.Name] = role.Rules
	}
	return roles, nil
}

// write replaces the rules in a file.
func write(file string, rules []rbacv1.PolicyRule) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, _, found := strings.Cut(string(content), "\nrules:\n")
	if !found {
		return fmt.Errorf("%s: the line %q is missing", file, "rules:")
	}
	var text strings.Builder
	text.WriteString(head + "\nrules:\n# make generate writes them.\n")
	for _, rule := range rules {
		fmt.Fprintf(&text, "- apiGroups: %s\n  resources: %s\n", list(rule.APIGroups), list(rule.Resources))
		if len(rule.ResourceNames) > 0 {
			fmt.Fprintf(&text, "  resourceNames: %s\n", list(rule.ResourceNames))
		}
		fmt.Fprintf(&text, "  verbs: %s\n", list(rule.Verbs))
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// list is a list of names in YAML.
func list(names []string) string {
	var quoted []string
	for _, name := range names {
		if name == "" {
			name = `""`
		}
		quoted = append(quoted, name)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
