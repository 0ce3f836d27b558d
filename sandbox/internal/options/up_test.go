// SPDX-License-Identifier: Apache-2.0

package options

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

func parse(t *testing.T, args ...string) (Up, error) {
	t.Helper()
	var flags Flags
	set := pflag.NewFlagSet("up", pflag.ContinueOnError)
	flags.AddTo(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return flags.Up()
}

func TestDefaults(t *testing.T) {
	up, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(up.Shoots) != 0 || len(up.Users) != 0 || up.Dir != "" || up.Detach {
		t.Errorf("unexpected defaults: %+v", up)
	}
	if got := up.Network.APIServerIP().String(); got != "100.64.0.1" {
		t.Errorf("the kubernetes Service has %s", got)
	}
}

func TestShootsAndUsers(t *testing.T) {
	up, err := parse(t, "--shoot=garden-dev/johndoe-azure", "--shoot=garden-it/x=7", "--shoots=2", "--user=alice", "--user=system:bob=dev,ops")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, shoot := range up.Shoots {
		names = append(names, shoot.String())
	}
	for _, shoot := range up.Shoots {
		if want := map[string]string{"x": "7"}[shoot.Name]; shoot.Nodes.String() != cmp.Or(want, "1") {
			t.Errorf("%s has %s nodes", shoot, shoot.Nodes)
		}
	}
	if got, want := strings.Join(names, " "), "garden-dev/johndoe-azure garden-it/x garden-dev/shoot-1 garden-dev/shoot-2"; got != want {
		t.Errorf("got shoots %s, want %s", got, want)
	}
	if len(up.Users) != 2 || up.Users[0].Groups != nil || strings.Join(up.Users[1].Groups, "+") != "dev+ops" {
		t.Errorf("got users %+v", up.Users)
	}
}

// TestRefusals checks that up rejects invalid flags, and that the error names the
// flag and what to do.
func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"shoot without namespace":  {[]string{"--shoot=johndoe"}, []string{`--shoot "johndoe"`, "NAMESPACE/NAME"}},
		"shoot with bad name":      {[]string{"--shoot=garden-dev/John_Doe"}, []string{`name "John_Doe"`, "lower case"}},
		"shoot with bad namespace": {[]string{"--shoot=-x/y"}, []string{`namespace "-x"`}},
		"shoot with two slashes":   {[]string{"--shoot=a/b/c"}, []string{`name "b/c"`}},
		"shoot with long name":     {[]string{"--shoot=a/" + strings.Repeat("b", 64)}, []string{"63"}},
		"shoot twice":              {[]string{"--shoot=a/b", "--shoot=a/b"}, []string{"a/b", "twice"}},
		"named like an unnamed":    {[]string{"--shoot=garden-dev/shoot-1", "--shoots=1"}, []string{"garden-dev/shoot-1", "twice"}},
		"nodes of a shoot":         {[]string{"--shoot=a/b=some"}, []string{"--shoot a/b=some: ", "real:N"}},
		"real nodes of a shoot":    {[]string{"--shoot=a/b=real:21"}, []string{"--shoot a/b=real:21: ", "1 to 20"}},
		"no room for a shoot":      {[]string{"--pod-cidr=10.0.0.0/23", "--shoot=a/b=3"}, []string{"room for 2 nodes"}},
		"negative shoots":          {[]string{"--shoots=-1"}, []string{"0 to 100"}},
		"too many shoots":          {[]string{"--shoots=101"}, []string{"0 to 100"}},
		"nodes of no kind":         {[]string{"--nodes=fake:2"}, []string{"--nodes fake:2", "real:N"}},
		"too many real nodes":      {[]string{"--nodes=real:21", "--node-programs=/"}, []string{"real:21", "1 to 20"}},
		"programs elsewhere":       {[]string{"--nodes=real:2", "--node-programs=/proc"}, []string{"/proc", "programs.json"}},
		"too many subnets":         {[]string{"--nodes=real:2", "--subnets=5"}, []string{"--subnets 5", "1 to 4"}},
		"unknown families":         {[]string{"--nodes=real:2", "--ip-families=IPv5"}, []string{"IPv5", "IPv6,IPv4"}},
		"an image that is none":    {[]string{"--nodes=real:2", "--node-programs=/", "--image=/proc"}, []string{"--image /proc", "is a directory"}},
		"a registry without host":  {[]string{"--nodes=real:2", "--node-programs=/", "--registry=:5000"}, []string{`--registry ":5000"`, "HOST:PORT"}},
		"a registry nowhere":       {[]string{"--nodes=real:2", "--node-programs=/", "--registry=a=b"}, []string{`address "b"`, "HOST:PORT=ADDRESS:PORT"}},
		"a registry of simulated":  {[]string{"--registry=a"}, []string{"--registry is for real nodes"}},
		"subnets of simulated":     {[]string{"--nodes=2", "--subnets=2"}, []string{"--subnets is for real nodes", "real:2"}},
		"families of simulated":    {[]string{"--ip-families=IPv6"}, []string{"--ip-families is for real nodes"}},
		"negative nodes":           {[]string{"--nodes=-1"}, []string{"--nodes -1", "0 to 1000"}},
		"too many nodes":           {[]string{"--nodes=1001"}, []string{"--nodes 1001", "0 to 1000"}},
		"user without name":        {[]string{"--user==dev"}, []string{"name is missing", "NAME=GROUP"}},
		"user with empty group":    {[]string{"--user=a=b,,c"}, []string{`group ""`}},
		"authentication nowhere":   {[]string{"--authentication-config=/proc/none"}, []string{"/proc/none", "no such file"}},
		"audit policy nowhere":     {[]string{"--audit-policy=/proc/none"}, []string{"/proc/none", "no such file"}},
		"user with long name":      {[]string{"--user=" + strings.Repeat("a", 65)}, []string{"65", "at most 64"}},
		"user twice":               {[]string{"--user=a", "--user=a=b"}, []string{"twice"}},
		"pod range is no range":    {[]string{"--pod-cidr=10.0.0.0"}, []string{"--pod-cidr", "10.0.0.0/16"}},
		"pod range is an address":  {[]string{"--pod-cidr=10.1.2.3/16"}, []string{"the range is 10.1.0.0/16"}},
		"pod range is IPv6":        {[]string{"--pod-cidr=fd00::/48"}, []string{"IPv4"}},
		"pod range too narrow":     {[]string{"--pod-cidr=10.0.0.0/25"}, []string{"/8 to /24"}},
		"pod range too wide":       {[]string{"--pod-cidr=96.0.0.0/7"}, []string{"/8 to /24"}},
		"no room for the nodes":    {[]string{"--pod-cidr=10.0.0.0/23", "--nodes=3"}, []string{"room for 2 nodes"}},
		"service range too wide":   {[]string{"--service-cidr=100.0.0.0/11"}, []string{"--service-cidr", "/12 to /29"}},
		"ranges overlap":           {[]string{"--pod-cidr=100.64.0.0/16"}, []string{"overlaps", "--service-cidr"}},
		"range of the nodes":       {[]string{"--service-cidr=10.250.4.0/24"}, []string{"overlaps", "nodes"}},
		"no time":                  {[]string{"--timeout=0s"}, []string{"--timeout 0s", "at least 1s"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, test.args...)
			if !IsInvalid(err) {
				t.Fatalf("%v: want an Invalid, got %v", test.args, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
		})
	}
}

func TestAllRefusalsAtOnce(t *testing.T) {
	_, err := parse(t, "--shoot=x", "--user=", "--nodes=-3", "--service-cidr=y")
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{"--shoot", "--user", "--nodes", "--service-cidr"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

func TestNodeIP(t *testing.T) {
	for index, want := range map[int]string{0: "10.250.0.1", 254: "10.250.0.255", 999: "10.250.3.232"} {
		if got := NodeIP(index).String(); got != want {
			t.Errorf("node %d has %s, want %s", index, got, want)
		}
	}
}

func TestRangesOfFamilies(t *testing.T) {
	up, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	for families, want := range map[plan.Layout]string{
		{IPv4: true}:             "100.96.0.0/11 100.64.0.0/13 [100.64.0.10]",
		{IPv6: true}:             "fd00:10:96::/56 fd00:10:64::/112 [fd00:10:64::a]",
		{IPv4: true, IPv6: true}: "100.96.0.0/11,fd00:10:96::/56 100.64.0.0/13,fd00:10:64::/112 [100.64.0.10 fd00:10:64::a]",
		{IPv4: true, IPv6: true, IPv6First: true}: "fd00:10:96::/56,100.96.0.0/11 fd00:10:64::/112,100.64.0.0/13 [fd00:10:64::a 100.64.0.10]",
	} {
		up.Real = &RealNodes{Layout: families}
		network := up.ShootNetwork(Shoot{Nodes: Nodes{Real: true}})
		if got := fmt.Sprint(Join(network.Pods), " ", Join(network.Services), " ", network.ClusterDNS()); got != want {
			t.Errorf("%+v:\ngot  %s\nwant %s", families, got, want)
		}
	}
}

// Shoots can differ: flags for real nodes are for those that have any.
func TestAShootCanHaveNodesOfItsOwn(t *testing.T) {
	up, err := parse(t, "--nodes=2", "--shoot=a/b", "--shoot=a/c=0", "--shoots=1")
	all, real := up.NodeCounts()
	if err != nil || up.Real != nil || all != 4 || real != 0 {
		t.Errorf("got %+v and %v", up, err)
	}
	cached(t)
	if _, err := parse(t, "--nodes=2", "--shoot=a/b=real:2"); err == nil || !strings.Contains(err.Error(), "no programs of real nodes") {
		t.Errorf("got %v", err)
	}
}

func TestRealNodesNeedRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		// This changes the user of this thread only, which ends with the test.
		runtime.LockOSThread()
		const nobody, same = 65534, ^uintptr(0)
		if _, _, failed := unix.RawSyscall(unix.SYS_SETRESUID, same, nobody, same); failed != 0 {
			t.Fatal(failed)
		}
	}
	_, err := parse(t, "--nodes=real:2", "--node-programs=/")
	if !IsInvalid(err) || !strings.Contains(err.Error(), "need root") || !strings.Contains(err.Error(), "write 2 in place of real:2") {
		t.Errorf("got %v", err)
	}
}

func TestRegistries(t *testing.T) {
	for text, want := range map[string]plan.Registry{
		"registry.example":                  {Name: "registry.example:443"},
		"registry.example:5000":             {Name: "registry.example:5000"},
		"registry.example=127.0.0.1:5000":   {Name: "registry.example:443", Address: "127.0.0.1:5000"},
		"registry.example:80=[fd00::1]:443": {Name: "registry.example:80", Address: "[fd00::1]:443"},
		"[fd00::1]":                         {Name: "[fd00::1]:443"},
	} {
		if got, err := parseRegistry(text); err != nil || got != want {
			t.Errorf("%s: got %+v (%v), want %+v", text, got, err, want)
		}
	}
}
