// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"

	"github.com/trellis-network/trellis/providers/routes"
)

// Error codes of the EC2 API, as its reference lists them. Those of throttling are the client's.
var (
	limitCodes   = []string{"RouteLimitExceeded", "TagLimitExceeded"}
	refusalCodes = []string{
		"UnauthorizedOperation", "AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch", "IncompleteSignature", "MissingAuthenticationToken",
		"RequestExpired", "AccessDenied", "AccessDeniedException", "OptInRequired", "Blocked", "PendingVerification",
	}
	goneCodes = []string{"InvalidRoute.NotFound", "InvalidRouteTableID.NotFound"}
)

const takenCode = "RouteAlreadyExists"

// code returns the code of an error that the API answered, or "".
func code(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorCode()
	}
	return ""
}

// maxMessage is how many bytes are kept of the API's message. One about a right that is missing
// ends with details that only the account's owner can decode.
const maxMessage = 300

// failed returns the error of a request as one that package routes distinguishes. action says what
// was tried: "make the route".
func failed(action string, err error) error {
	if err == nil {
		return nil
	}
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", action, err)
	}
	message, _, _ := strings.Cut(answer.ErrorMessage(), " Encoded authorization failure message:")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	kind := errAnswer
	switch c := answer.ErrorCode(); {
	case isThrottle(c):
		kind = routes.ErrThrottled
	case slices.Contains(limitCodes, c):
		kind = routes.ErrLimitReached
	case slices.Contains(refusalCodes, c):
		kind = routes.ErrNotAllowed
	case c == takenCode:
		kind = routes.ErrTaken
	}
	return fmt.Errorf("%s: %w: %s: %s", action, kind, answer.ErrorCode(), message)
}

// errAnswer stands for an answer that no other error of package routes describes.
var errAnswer = errors.New("the EC2 API answers with an error")

func isThrottle(code string) bool {
	_, known := retry.DefaultThrottleErrorCodes[code]
	return known
}

// endsBatch reports whether whatever else is tried would fail in the same way.
func endsBatch(err error) bool {
	return errors.Is(err, routes.ErrThrottled) || errors.Is(err, routes.ErrNotAllowed)
}
