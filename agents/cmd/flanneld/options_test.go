// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func env(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

func TestTheFlagsThatTrellisRenders(t *testing.T) {
	o, err := parseOptions([]string{"--ip-masq", "--kube-subnet-mgr", "--iface=eth0", "--iface", "eth1"}, env(nil))
	if err != nil {
		t.Fatal(err)
	}
	if !o.ipMasq || !o.kubeSubnetMgr || o.interfaces.String() != "eth0,eth1" {
		t.Errorf("got %+v", o)
	}
	if !o.forwardRules || !o.setNodeNetworkUnavailable || o.resyncSeconds != 5 || o.subnetFile != "/run/flannel/subnet.env" ||
		o.netConf != "/etc/kube-flannel/net-conf.json" || o.annotationPrefix != "flannel.alpha.coreos.com" {
		t.Errorf("flannel has other defaults than %+v", o)
	}
}

func TestTheEnvironmentSetsWhatTheArgumentsDoNot(t *testing.T) {
	o, err := parseOptions([]string{"--kube-subnet-mgr", "--iface=eth0"}, env(map[string]string{
		"FLANNELD_IFACE": "eth1", "FLANNELD_IP_MASQ": "true", "FLANNELD_HEALTHZ_PORT": "8471",
	}))
	if err != nil || o.interfaces.String() != "eth0" || !o.ipMasq || o.healthzPort != 8471 {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestInvalidFlagsAreNamed(t *testing.T) {
	for message, test := range map[string]struct {
		args []string
		env  map[string]string
	}{
		"-etcd-endpoints":         {args: []string{"--kube-subnet-mgr", "--etcd-endpoints=http://127.0.0.1"}},
		"--kube-subnet-mgr":       {args: []string{"--ip-masq"}},
		`"up"`:                    {args: []string{"--kube-subnet-mgr", "up"}},
		"--iptables-resync is 0":  {args: []string{"--kube-subnet-mgr", "--iptables-resync=0"}},
		"--healthz-port is 65536": {args: []string{"--kube-subnet-mgr", "--healthz-port=65536"}},
		`FLANNELD_IP_MASQ is "y"`: {args: []string{"--kube-subnet-mgr"}, env: map[string]string{"FLANNELD_IP_MASQ": "y"}},
	} {
		if _, err := parseOptions(test.args, env(test.env)); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: got %v", test.args, err)
		}
	}
}
