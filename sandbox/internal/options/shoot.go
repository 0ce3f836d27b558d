// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// MaxShoots bounds how many shoots one sandbox runs.
	MaxShoots = 100
	// UnnamedNamespace is the namespace of the shoots that --shoots adds.
	UnnamedNamespace = "garden-dev"
)

// Shoot is one shoot cluster, with the namespace and name of its Shoot.
type Shoot struct {
	Namespace string
	Name      string
	Nodes
}

// String returns the shoot as the command line has it: NAMESPACE/NAME.
func (s Shoot) String() string { return s.Namespace + "/" + s.Name }

// parseShoot reads NAMESPACE/NAME, both of which must be DNS-1123 labels, or NAMESPACE/NAME=NODES.
func parseShoot(text string, nodes Nodes) (Shoot, error) {
	identity, own, hasOwn := strings.Cut(text, "=")
	if hasOwn {
		var err error
		if nodes, err = parseNodes(own, fmt.Sprintf("--shoot %s", text)); err != nil {
			return Shoot{Nodes: nodes}, err
		}
	}
	namespace, name, found := strings.Cut(identity, "/")
	if !found {
		return Shoot{Nodes: nodes}, Invalidf("--shoot %q: the namespace is missing; write NAMESPACE/NAME, for example %s/johndoe-azure", text, UnnamedNamespace)
	}
	for part, value := range map[string]string{"namespace": namespace, "name": name} {
		if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
			return Shoot{Nodes: nodes}, Invalidf("--shoot %q: %s %q cannot be used: %s", text, part, value, strings.Join(problems, "; "))
		}
	}
	return Shoot{Namespace: namespace, Name: name, Nodes: nodes}, nil
}

// parseShoots reads the shoots of --shoot and adds those of --shoots. They have these nodes unless
// a shoot has its own. With errors, what is known of the shoots is their nodes.
func parseShoots(named []string, unnamed int, nodes Nodes) ([]Shoot, []error) {
	if unnamed < 0 || unnamed > MaxShoots || len(named)+unnamed > MaxShoots {
		return nil, []error{Invalidf("%d shoots by name and %d by --shoots: a sandbox runs from 0 to %d shoots", len(named), unnamed, MaxShoots)}
	}
	texts := append([]string(nil), named...)
	for i := range unnamed {
		texts = append(texts, fmt.Sprintf("%s/shoot-%d", UnnamedNamespace, i+1))
	}

	var shoots []Shoot
	var errs []error
	seen := map[string]bool{}
	for _, text := range texts {
		shoot, err := parseShoot(text, nodes)
		shoots = append(shoots, shoot)
		switch {
		case err != nil:
			errs = append(errs, err)
		case seen[shoot.String()]:
			errs = append(errs, Invalidf("shoot %s is given twice; every shoot needs its own namespace and name (--shoots takes %s/shoot-1 and so on)", shoot, UnnamedNamespace))
		default:
			seen[shoot.String()] = true
		}
	}
	return shoots, errs
}
