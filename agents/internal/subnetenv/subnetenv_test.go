// SPDX-License-Identifier: Apache-2.0

package subnetenv

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// dual is what flannel v0.28.4 writes in a network of both families.
const dual = `FLANNEL_NETWORK=10.244.0.0/16
FLANNEL_SUBNET=10.244.1.1/24
FLANNEL_IPV6_NETWORK=fd00:10::/48
FLANNEL_IPV6_SUBNET=fd00:10:0:1::1/64
FLANNEL_MTU=1430
FLANNEL_IPMASQ=true
`

func written(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "subnet.env")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheFileOfFlannelIsRead(t *testing.T) {
	got, err := Read(written(t, dual))
	want := &File{
		Families: []Family{
			{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("10.244.1.1/24")},
			{netip.MustParsePrefix("fd00:10::/48"), netip.MustParsePrefix("fd00:10:0:1::1/64")},
		},
		MTU: 1430, IPMasq: true,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAFileThatFlannelDidNotWriteIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ content, message string }{
		"empty":                 {"", "neither FLANNEL_SUBNET nor FLANNEL_IPV6_SUBNET"},
		"cut off":               {dual[:strings.Index(dual, "FLANNEL_MTU")], "FLANNEL_MTU"},
		"no subnet":             {strings.Replace(dual, "FLANNEL_SUBNET=10.244.1.1/24", "", 1), "FLANNEL_SUBNET"},
		"the wrong family":      {strings.Replace(dual, "fd00:10::/48", "10.0.0.0/8", 1), "FLANNEL_IPV6_NETWORK"},
		"no range":              {strings.Replace(dual, "10.244.1.1/24", "ten", 1), `"ten"`},
		"an MTU of an IP":       {strings.Replace(dual, "1430", "67", 1), "FLANNEL_MTU"},
		"a masquerade of sorts": {strings.Replace(dual, "true", "maybe", 1), `"maybe"`},
		"too large":             {dual + strings.Repeat("#", maxSize), "more than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(written(t, test.content))
			if err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestAMissingFileIsToldApart(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "subnet.env")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
