// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/test/contract"
)

func TestTheTextOfAnErrorIsCut(t *testing.T) {
	e := setup(t)
	n := e.network()
	e.managedResource()
	e.resourceManager("False", "ApplyFailed", strings.Repeat("no ", 100_000), time.Now(), corev1beta1.ErrorConfigurationProblem)
	e.becomes(n, create, erroneous)
	for _, text := range []string{n.Status.LastError.Description, n.Status.LastOperation.Description} {
		e.Expect(len(text)).To(And(BeNumerically("<=", condition.MaxMessage), BeNumerically(">", condition.MaxMessage-10)))
		e.Expect(text).To(And(HavePrefix("Error reconciling Network: "), HaveSuffix("…")))
	}
	e.stays(n)
}

func TestALongInvalidConfigIsAnErrorWithItsPath(t *testing.T) {
	contract.Shows(t, "N24")
	e := setup(t)
	n := e.network(withConfig(`{"backend":"` + strings.Repeat("w", 300_000) + `"}`))
	e.becomes(n, create, erroneous)
	e.Expect(n.Status.LastError.Description).To(HaveSuffix("spec.providerConfig: Too long: may not be more than 65536 bytes"))
	e.Expect(n.Status.LastError.Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
	e.stays(n)
	e.patch(n, withConfig(`{"backend":"`+strings.Repeat("w", 60_000)+`"}`))
	e.applied()
	e.becomes(n, create, fine)
}

// The limits of an API server and its etcd are the seed's.
func TestAStatusThatIsRefusedAsTooLargeIsWrittenShort(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		e.requests.Before(func(request *http.Request) error {
			if strings.HasSuffix(request.URL.Path, "/status") && request.ContentLength > 2000 {
				return errors.New("etcdserver: request is too large")
			}
			return nil
		})
		e.patch(n, func(n *extensionsv1alpha1.Network) {
			asked(n)
			withConfig(`{"backend":"` + strings.Repeat("w", 3000) + `"}`)(n)
		})
		e.becomes(n, again, erroneous)
		e.Expect(n.Status.LastError.Description).To(Equal(
			"Error reconciling Network: the API server refuses the status of the Network as too large: shorten spec.providerConfig"))
		e.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
		e.Eventually(func() string { e.get(n); return n.RequestedOperation() }).Should(BeEmpty())
		e.stays(n)
		e.patch(n, func(n *extensionsv1alpha1.Network) { asked(n); withConfig(`{"backend":"none"}`)(n) })
		e.Eventually(e.written).Should(Equal("none"))
		e.applied()
		e.becomes(n, again, fine)
	})
}
