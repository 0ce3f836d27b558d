// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
)

const env = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\n" +
	"FLANNEL_IPV6_NETWORK=fd00:10::/48\nFLANNEL_IPV6_SUBNET=fd00:10:0:1::1/64\nFLANNEL_MTU=1430\nFLANNEL_IPMASQ=true\n"

// configured is a configuration with more fields, on a node whose daemon runs.
func configured(t *testing.T, fields string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "subnet.env")
	if err := os.WriteFile(file, []byte(env), 0o600); err != nil {
		t.Fatal(err)
	}
	return []byte(`{"name": "cbr0", "cniVersion": "0.3.1", "type": "flannel", "subnetFile": "` + file + `"` + fields + `}`)
}

func TestWhatIsDelegated(t *testing.T) {
	const ipam = `"ipam": {"type": "host-local",
		"ranges": [[{"subnet": "10.244.1.0/24"}], [{"subnet": "fd00:10:0:1::/64"}]],
		"routes": [{"dst": "10.244.0.0/16"}, {"dst": "fd00:10::/48"}]}`
	for name, test := range map[string]struct{ fields, want string }{
		"nothing else": {``,
			`{"name": "cbr0", "cniVersion": "0.3.1", "type": "bridge", "isGateway": true, "ipMasq": false, "mtu": 1430, ` + ipam + `}`},
		"Trellis' settings": {`, "delegate": {"hairpinMode": true, "isDefaultGateway": true, "mtu": 1400}`,
			`{"name": "cbr0", "cniVersion": "0.3.1", "type": "bridge", "isGateway": true, "ipMasq": false, "mtu": 1400,
				"hairpinMode": true, "isDefaultGateway": true, ` + ipam + `}`},
		"another plugin": {`, "delegate": {"type": "ptp", "ipMasq": true}, "runtimeConfig": {"mac": "02:00:00:00:00:01"}`,
			`{"name": "cbr0", "cniVersion": "0.3.1", "type": "ptp", "ipMasq": true, "mtu": 1430, "runtimeConfig": {"mac": "02:00:00:00:00:01"}, ` + ipam + `}`},
		"more of IPAM": {`, "ipam": {"dataDir": "/data", "routes": [{"dst": "192.168.0.0/16"}]}`,
			`{"name": "cbr0", "cniVersion": "0.3.1", "type": "bridge", "isGateway": true, "ipMasq": false, "mtu": 1430,
				"ipam": {"type": "host-local", "dataDir": "/data",
				"ranges": [[{"subnet": "10.244.1.0/24"}], [{"subnet": "fd00:10:0:1::/64"}]],
				"routes": [{"dst": "192.168.0.0/16"}, {"dst": "10.244.0.0/16"}, {"dst": "fd00:10::/48"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := parseConfig(configured(t, test.fields))
			if err != nil {
				t.Fatal(err)
			}
			d, err := c.delegation()
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := errors.Join(json.Unmarshal(encoded, &got), json.Unmarshal([]byte(test.want), &want)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", encoded, test.want)
			}
		})
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		config  []byte
		code    uint
		message string
	}{
		"no JSON":               {[]byte(`{`), types.ErrDecodingFailure, "cannot be read"},
		"a name of a delegate":  {configured(t, `, "delegate": {"name": "x"}`), types.ErrInvalidNetworkConfig, `"name"`},
		"IPAM of a delegate":    {configured(t, `, "delegate": {"ipam": {}}`), types.ErrInvalidNetworkConfig, `"ipam"`},
		"ranges that are none":  {configured(t, `, "ipam": {"ranges": 1}`), types.ErrInvalidNetworkConfig, "ipam.ranges"},
		"too large":             {configured(t, strings.Repeat(" ", maxConfig)), types.ErrInvalidNetworkConfig, "may have 1048576"},
		"a daemon not running":  {[]byte(`{"name": "cbr0", "subnetFile": "/nowhere/subnet.env"}`), types.ErrTryAgainLater, "has not written /nowhere/subnet.env"},
		"a file of another one": {[]byte(`{"name": "cbr0", "subnetFile": "/proc/self/environ"}`), types.ErrTryAgainLater, "has not said which addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := parseConfig(test.config)
			if err == nil {
				_, err = c.delegation()
			}
			theirs := &types.Error{}
			if !errors.As(err, &theirs) || theirs.Code != test.code || !strings.Contains(theirs.Msg, test.message) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatIsKept(t *testing.T) {
	k := kept(filepath.Join(t.TempDir(), "flannel"))
	if containers, err := k.containers(); err != nil || len(containers) != 0 {
		t.Errorf("got %v, %v", containers, err)
	}
	if err := k.write("one", delegation{"type": "bridge", "mtu": 1400, interfaceKey: "eth0"}); err != nil {
		t.Fatal(err)
	}
	d, err := k.read("one")
	if err != nil || d.plugin() != "bridge" || d.text(interfaceKey) != "eth0" || d.text("mtu") != "" {
		t.Errorf("got %v, %v", d, err)
	}
	// The process may die while it writes.
	if err := os.WriteFile(k.path(".two"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if containers, err := k.containers(); err != nil || !reflect.DeepEqual(containers, []string{"one"}) {
		t.Errorf("got %v, %v", containers, err)
	}
	for _, id := range []string{"one", "two", "two"} {
		if err := k.remove(id); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(string(k)); err != nil || len(entries) != 0 {
		t.Errorf("got %v, %v", entries, err)
	}
	if err := os.WriteFile(k.path("large"), make([]byte, maxConfig+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.read("large"); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
}
