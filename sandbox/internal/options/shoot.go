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

// Shoot identifies one shoot cluster by the namespace and name of its Shoot.
type Shoot struct {
	Namespace string
	Name      string
}

// String returns the shoot as the command line has it: NAMESPACE/NAME.
func (s Shoot) String() string { return s.Namespace + "/" + s.Name }

// ParseShoot reads NAMESPACE/NAME; both parts must be DNS-1123 labels.
func ParseShoot(text string) (Shoot, error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found {
		return Shoot{}, Invalidf("--shoot %q: the namespace is missing; write NAMESPACE/NAME, for example %s/johndoe-azure", text, UnnamedNamespace)
	}
	for part, value := range map[string]string{"namespace": namespace, "name": name} {
		if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
			return Shoot{}, Invalidf("--shoot %q: %s %q cannot be used: %s", text, part, value, strings.Join(problems, "; "))
		}
	}
	return Shoot{Namespace: namespace, Name: name}, nil
}

// parseShoots reads the shoots of --shoot and adds those of --shoots.
func parseShoots(named []string, unnamed int) ([]Shoot, []error) {
	if unnamed < 0 || unnamed > MaxShoots || len(named)+unnamed > MaxShoots {
		return nil, []error{Invalidf("%d shoots by name and %d by --shoots: a sandbox runs from 0 to %d shoots", len(named), unnamed, MaxShoots)}
	}
	texts := append([]string(nil), named...)
	for i := range unnamed {
		texts = append(texts, fmt.Sprintf("%s/shoot-%d", UnnamedNamespace, i+1))
	}

	var shoots []Shoot
	var errs []error
	seen := map[Shoot]bool{}
	for _, text := range texts {
		shoot, err := ParseShoot(text)
		switch {
		case err != nil:
			errs = append(errs, err)
		case seen[shoot]:
			errs = append(errs, Invalidf("shoot %s is given twice; every shoot needs its own namespace and name (--shoots takes %s/shoot-1 and so on)", shoot, UnnamedNamespace))
		default:
			seen[shoot] = true
			shoots = append(shoots, shoot)
		}
	}
	return shoots, errs
}
