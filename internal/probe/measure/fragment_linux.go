// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ForbidFragments makes the datagrams of a UDP socket keep their size: they get the flag don't
// fragment, and the path's MTU that the kernel has learned is ignored. It needs no privileges. A
// socket for both families gets both options.
func ForbidFragments(conn syscall.RawConn) error {
	var ip4, ip6 error
	err := conn.Control(func(fd uintptr) {
		ip4 = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
		ip6 = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE)
	})
	if err == nil && ip4 != nil {
		return ip6
	}
	return err
}
