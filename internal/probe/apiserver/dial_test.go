// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net"
	"testing"

	. "github.com/onsi/gomega"
)

// Where the cluster's DNS has failed, the probe must be able to say so.
func TestAnAPIServerWhoseNameIsNoLongerResolvedIsReachedWhereItWas(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	const unresolvable = "api..invalid:443"
	var c Client
	_, err = c.dial(t.Context(), "tcp", unresolvable)
	g.Expect(err).To(MatchError(ContainSubstring("no such host")))
	conn, err := c.dial(t.Context(), "tcp", listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(conn.Close()).To(Succeed())
	conn, err = c.dial(t.Context(), "tcp", unresolvable)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(conn.RemoteAddr()).To(Equal(listener.Addr()))
	g.Expect(conn.Close()).To(Succeed())
}
