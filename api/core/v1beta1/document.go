// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// known has the fields of Shoot without its methods, so that decoding and
// encoding do not call themselves.
type known Shoot

// UnmarshalJSON decodes a Shoot and remembers the document, so that encoding it
// again loses nothing.
func (s *Shoot) UnmarshalJSON(data []byte) error {
	*s = Shoot{document: bytes.Clone(data)}
	return json.Unmarshal(data, (*known)(s))
}

// MarshalJSON encodes a Shoot: the document that it was decoded from, with the
// changes of the known fields since then. It replaces lists as a whole.
func (s Shoot) MarshalJSON() ([]byte, error) {
	now, err := json.Marshal(known(s))
	if err != nil || s.document == nil {
		return now, err
	}
	var then known
	if err := json.Unmarshal(s.document, &then); err != nil {
		return nil, fmt.Errorf("decode the remembered Shoot: %w", err)
	}
	before, err := json.Marshal(then)
	if err != nil {
		return nil, err
	}
	change, err := jsonpatch.CreateMergePatch(before, now)
	if err != nil {
		return nil, fmt.Errorf("compare the Shoot with its document: %w", err)
	}
	return jsonpatch.MergePatch(s.document, change)
}
