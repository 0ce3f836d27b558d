// SPDX-License-Identifier: Apache-2.0

package fielderror_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/fielderror"
)

func TestTheNameThatAnAuthorMeantIsFound(t *testing.T) {
	known := []string{"apiVersion", "branches", "height", "leaves", "name", "tall", "wireguardEncryption", "ip"}
	for written, meant := range map[string]string{
		"branchs":                     "branches",
		"Branches":                    "branches",
		"brnaches":                    "branches",
		"wireguard":                   "wireguardEncryption",
		"wireguard_encryption":        "wireguardEncryption",
		"encryption":                  "wireguardEncryption",
		"nmae":                        "name",
		"hight":                       "height",
		"tal":                         "tall",
		"pi":                          "ip",
		"":                            "",
		"-":                           "",
		"x":                           "",
		"roots":                       "",
		"äöü":                         "",
		strings.Repeat("name", 1<<18): "",
	} {
		NewWithT(t).Expect(fielderror.Nearest(written, known)).To(Equal(meant), "%.40q", written)
	}
	NewWithT(t).Expect(fielderror.Nearest("name", nil)).To(BeEmpty())
}
