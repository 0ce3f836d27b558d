// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/plugin"
)

// The modes that the operator runs in.
const (
	modeGardener   = "gardener"
	modeStandalone = "standalone"
)

// noArguments refuses arguments of a command that takes its input from flags.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; pass files with -f %s", args[0], args[0])
	}
	return nil
}

// choice is a flag that takes one of a few values.
type choice struct {
	value   string
	allowed []string
}

// Set implements pflag.Value.
func (c *choice) Set(value string) error {
	if !slices.Contains(c.allowed, value) {
		return fmt.Errorf("must be %s", strings.Join(c.allowed, " or "))
	}
	c.value = value
	return nil
}

func (c *choice) String() string { return c.value }

// Type implements pflag.Value.
func (c *choice) Type() string { return "string" }

// gatesHelp lists the feature gates, one a line.
func gatesHelp(gates []plugin.FeatureGate) string {
	var help strings.Builder
	for _, gate := range gates {
		fmt.Fprintf(&help, "\n  %s", gate)
	}
	return help.String()
}

// apiServer is the flag with the address of an API server: api.example.com:443.
type apiServer struct{ text, host, port string }

// Set implements pflag.Value. It also takes the URL from a kubeconfig.
func (a *apiServer) Set(value string) error {
	address := strings.TrimSuffix(strings.TrimPrefix(value, "https://"), "/")
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port, err = net.SplitHostPort(address + ":443")
	}
	if err != nil || host == "" || strings.ContainsAny(host, "/@ ") {
		return fmt.Errorf("must be HOST:PORT, for example %s or [2001:db8::1]:443", defaultAPIServer)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf("port %q must be from 1 to 65535", port)
	}
	*a = apiServer{text: value, host: host, port: port}
	return nil
}

func (a *apiServer) String() string { return a.text }

// Type implements pflag.Value.
func (a *apiServer) Type() string { return "address" }
