// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Service makes a Service, and returns the host:port to listen on for what the API server of the
// cluster sends to its port 443. Nothing implements cluster IPs for that API server, so the Service
// has an external name, which API servers resolve as well: a loopback address. The test is skipped
// if its process must not listen on port 443.
func (c *Cluster) Service(t *testing.T, namespace, name string) (address string) {
	t.Helper()
	host := fmt.Sprintf("127.%d.%d.%d", 64+rand.N(128), rand.N(256), 1+rand.N(254))
	address = net.JoinHostPort(host, "443")
	free, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("what serves a Service must listen on port 443 of a loopback address: ", err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	service.Spec.Type, service.Spec.ExternalName = corev1.ServiceTypeExternalName, host
	if err := c.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	return address
}
