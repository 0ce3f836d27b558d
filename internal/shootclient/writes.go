// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"net/http"
	"strings"

	"github.com/trellis-network/trellis/internal/metrics"
)

// applyPatch begins the content types of server-side apply, of which there is one for each
// encoding.
const applyPatch = "application/apply-patch"

// writeCounter is a transport that counts the requests which write.
type writeCounter struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w writeCounter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if verb := writeVerb(request); verb != "" {
		status := 0
		if err == nil {
			status = response.StatusCode
		}
		metrics.ShootWrite(verb, status)
	}
	return response, err
}

// writeVerb returns the verb of Kubernetes' API for a request that writes, otherwise "".
func writeVerb(request *http.Request) string {
	if request.URL.Query().Has("dryRun") {
		return ""
	}
	switch request.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		return "delete"
	case http.MethodPatch:
		if strings.HasPrefix(request.Header.Get("Content-Type"), applyPatch) {
			return "apply"
		}
		return "patch"
	}
	return ""
}
