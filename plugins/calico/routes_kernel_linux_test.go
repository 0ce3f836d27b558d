// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
)

// aNodesRoutes gives an empty network namespace an interface eth0, the tunnel of IP-in-IP, and
// routes: of the node itself, of BIRD within the nodes' segment and through the tunnel, and of
// Felix. Virtual Ethernet stands for devices that this kernel may lack.
const aNodesRoutes = `
ip link show dev tunl0 >/dev/null 2>&1 || ip link add tunl0 type veth peer name peer1
ip link add eth0 type veth peer name peer0
for device in eth0 peer0 tunl0; do ip link set $device up; done
ip link show dev peer1 >/dev/null 2>&1 && ip link set peer1 up
ip addr add 10.250.0.2/16 dev eth0
ip addr add 100.64.0.1/32 dev tunl0
ip route add default via 10.250.0.1
ip route add blackhole 100.64.0.0/24 proto bird
ip route add 100.64.1.0/24 via 10.250.0.3 dev eth0 proto bird
ip route add 100.64.2.0/24 via 10.250.0.4 dev tunl0 onlink proto bird
ip route add 100.64.3.0/24 via 10.250.0.5 dev tunl0 onlink proto 80
`

// The kernel decides here, in a network namespace of its own.
func TestRoutesThatSurviveTheStartOfCalicoNode(t *testing.T) {
	const (
		own, felix    = "default ", "100.64.3.0/24 "
		blackhole     = "blackhole 100.64.0.0/24 "
		segment, ipip = "100.64.1.0/24 ", "100.64.2.0/24 "
	)
	for _, test := range []struct {
		name, config string
		stay, gone   []string
	}{
		{"BIRD is the backend", podRoutes, []string{own, felix, blackhole, segment}, []string{ipip}},
		{"the cloud makes the routes", "overlay: {enabled: false}", []string{own, felix}, []string{blackhole, segment, ipip}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			command := build(t, test.config).container(cleanupRoutes).Command
			all := inNetworkNamespace(t, aNodesRoutes+"ip route")
			g.Expect(strings.Count("\n"+all, "\n100.64.")+strings.Count(all, blackhole)).To(Equal(4), all)
			left := inNetworkNamespace(t, aNodesRoutes+`"$@"; "$@"; ip route`, command...)
			for _, route := range test.stay {
				g.Expect("\n" + left).To(ContainSubstring("\n" + route))
			}
			for _, route := range test.gone {
				g.Expect("\n" + left).NotTo(ContainSubstring("\n" + route))
			}
		})
	}
}

// inNetworkNamespace runs a script with arguments in a new network namespace, and returns what
// it prints. Users other than root need a user namespace for it, which some machines refuse:
// only then the test is left out.
func inNetworkNamespace(t *testing.T, script string, arguments ...string) string {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Fatalf("install iproute2: %v", err)
	}
	command := exec.Command("sh", append([]string{"-euc", script, "sh"}, arguments...)...)
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	}
	output, err := command.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		t.Skipf("which routes the kernel keeps is only tested as root here, since this machine allows users no namespaces: %v", err)
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(output))
	return string(output)
}
