// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// tooLarge is what etcd and its client answer, which the API server passes on.
var tooLarge = regexp.MustCompile(`request is too large|larger than max|limit is \d+ bytes`)

// IsTooLarge reports whether the API server, or its etcd, refused an object for its size.
func IsTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || err != nil && tooLarge.MatchString(err.Error())
}
