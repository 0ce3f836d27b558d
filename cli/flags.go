// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trellis-network/trellis/plugin"
)

// flagError says what a flag takes where the parser's error has the words of Go's own.
func flagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool" {
		return fmt.Errorf("invalid argument %q for \"--%s\" flag: must be true or false", invalid.GetValue(), invalid.GetFlag().Name)
	}
	return err
}

// noArguments refuses arguments of a command that takes its input from flags.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; pass files with -f %s", args[0], args[0])
	}
	return nil
}

// addFlag adds a flag whose value set takes. byDefault is the default in the help.
func addFlag(flags *pflag.FlagSet, name, shorthand, byDefault, usage string, set func(string) error) {
	flags.FuncP(name, shorthand, usage, set)
	flags.Lookup(name).DefValue = byDefault
}

// addChoice adds a flag that takes one of a few values, the first one by default.
func addChoice(flags *pflag.FlagSet, choice *string, name, shorthand, usage string, allowed ...string) {
	*choice = allowed[0]
	addFlag(flags, name, shorthand, strconv.Quote(*choice), usage, func(value string) error {
		if !slices.Contains(allowed, value) {
			return fmt.Errorf("must be %s", strings.Join(allowed, " or "))
		}
		*choice = value
		return nil
	})
}

// addOriginsFlag adds the flag that shows the origin of each value in force.
func addOriginsFlag(cmd *cobra.Command, show *bool, where string) {
	cmd.Flags().BoolVar(show, "show-origins", false, "also print each value in force and its origin to "+where+".\nOrigins: user, default, infrastructure, rule, applied (kept since the network was\nfirst applied)")
}

// podAccess returns the address of an API server: HOST:PORT, or the URL from a kubeconfig.
func podAccess(value string) (access plugin.PodAccess, err error) {
	address := strings.TrimSuffix(strings.TrimPrefix(value, "https://"), "/")
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port, err = net.SplitHostPort(address + ":443")
	}
	if err != nil || host == "" || strings.ContainsAny(host, "/@ ") {
		return access, fmt.Errorf("must be HOST:PORT, for example %s or [2001:db8::1]:443", defaultAPIServer)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return access, fmt.Errorf("port %q must be from 1 to 65535", port)
	}
	return plugin.PodAccess{Host: host, Port: port}, nil
}
