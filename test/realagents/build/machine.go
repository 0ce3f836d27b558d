// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// KernelPart is a part of the kernel that agents need, with a command that needs just that. It runs in a network
// namespace that ends with it.
type KernelPart struct{ Name, Try string }

// CheckMachine returns an error that names all that this machine lacks of the packages of a file, and of the kernel.
func CheckMachine(packagesFile string, parts []KernelPart) error {
	missing, err := missingPackages(packagesFile)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		err = fmt.Errorf("tools are missing: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	if os.Geteuid() != 0 {
		return errors.Join(err, errors.New("real nodes need root: run this as root"))
	}
	if len(missing) > 0 {
		return err
	}
	for _, part := range parts {
		try := exec.Command("sh", "-c", part.Try)
		try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if output, failed := try.CombinedOutput(); failed != nil {
			err = errors.Join(err, fmt.Errorf("the kernel lacks %s: %s: %s", part.Name, part.Try, strings.TrimSpace(string(output))))
		}
	}
	return err
}

// missingPackages returns the packages of the file that are not installed.
func missingPackages(packagesFile string) ([]string, error) {
	wanted, versions, err := Packages(packagesFile)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(wanted, func(name string) bool { return versions[name] != "" }), nil
}

// Packages returns the packages of Debian that a file names, one a line, and the versions of those that are installed.
func Packages(packagesFile string) (wanted []string, versions map[string]string, err error) {
	content, err := os.ReadFile(packagesFile)
	if err != nil {
		return nil, nil, err
	}
	wanted = strings.Fields(string(content))
	output, err := exec.Command("dpkg-query", slices.Concat(
		[]string{"--show", "--showformat", "${binary:Package} ${db:Status-Status} ${Version}\n"}, wanted)...).Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil, fmt.Errorf("agents are built with Debian's packages %s, and this is no Debian: there is no dpkg-query", strings.Join(wanted, " "))
	}
	// A status of 1 is that a package is not known, which is then missing in the output.
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, nil, fmt.Errorf("ask dpkg-query for packages: %w", err)
	}
	versions = map[string]string{}
	for line := range strings.Lines(string(output)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[1] == "installed" {
			name, _, _ := strings.Cut(fields[0], ":")
			versions[name] = fields[2]
		}
	}
	return wanted, versions, nil
}
