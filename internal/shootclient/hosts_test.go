// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Users choose the addresses of API servers, and could make the number of time series grow.
func TestNoTimeSeriesNamesAShoot(t *testing.T) {
	for range 3 {
		h := newHostile(t, nil)
		_ = h.get("one")
		for labels := range series(NewWithT(t), "rest_client_requests_total") {
			h.Expect(labels).NotTo(ContainSubstring(strings.TrimPrefix(h.server.URL, "https://")))
		}
	}
}
