// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"k8s.io/klog/v2"

	"github.com/trellis-network/trellis/agents/internal/subnetenv"
)

// options are the flags. Names, defaults and meanings are those of flannel
// (Documentation/configuration.md of flannel v0.28.4).
type options struct {
	kubeSubnetMgr             bool
	kubeAPIURL                string
	kubeconfig                string
	annotationPrefix          string
	setNodeNetworkUnavailable bool
	netConf                   string
	subnetFile                string
	interfaces                list
	interfaceRegexes          list
	interfaceCanReach         string
	publicIP, publicIPv6      string
	ipMasq                    bool
	ipMasqNotFullyRandom      bool
	forwardRules              bool
	resyncSeconds             int
	healthzIP                 string
	healthzPort               int
	version                   bool
}

// list is a flag that may be repeated.
type list []string

// String implements flag.Value.
func (l *list) String() string { return strings.Join(*l, ",") }

// Set implements flag.Value.
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// parseOptions reads the arguments. A flag that they do not have is read from the environment:
// --ip-masq from FLANNELD_IP_MASQ. The error names the flag that is unknown or invalid.
func parseOptions(args []string, lookupEnv func(string) (string, bool)) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("flanneld", flag.ContinueOnError)
	flags.BoolVar(&o.kubeSubnetMgr, "kube-subnet-mgr", false, "take the ranges of nodes from Kubernetes; must be set, since nothing else is built in")
	flags.StringVar(&o.kubeAPIURL, "kube-api-url", "", "the API server's URL; empty means that of the pod's environment")
	flags.StringVar(&o.kubeconfig, "kubeconfig-file", "", "path of a kubeconfig; empty means the pod's service account")
	flags.StringVar(&o.annotationPrefix, "kube-annotation-prefix", "flannel.alpha.coreos.com", "prefix of the annotations of nodes")
	flags.BoolVar(&o.setNodeNetworkUnavailable, "set-node-network-unavailable", true, "report in the node's condition NetworkUnavailable that the network is there")
	flags.StringVar(&o.netConf, "net-config-path", "/etc/kube-flannel/net-conf.json", "path of the network's configuration")
	flags.StringVar(&o.subnetFile, "subnet-file", subnetenv.DefaultPath, "path of the file for the CNI plugin")
	flags.Var(&o.interfaces, "iface", "name or address of the interface to the other nodes; may be repeated, the first one that exists is used; if absent, that of the default route")
	flags.Var(&o.interfaceRegexes, "iface-regex", "regular expression for the same; may be repeated, and comes after --iface")
	flags.StringVar(&o.interfaceCanReach, "iface-can-reach", "", "an address to which the interface has a route; comes after --iface-regex")
	flags.StringVar(&o.publicIP, "public-ip", "", "the address that other nodes send to; empty means that of the interface")
	flags.StringVar(&o.publicIPv6, "public-ipv6", "", "the same for IPv6")
	flags.BoolVar(&o.ipMasq, "ip-masq", false, "masquerade packets that leave the pod network")
	flags.BoolVar(&o.ipMasqNotFullyRandom, "ip-masq-fully-random-disable", false, "do not choose ports at random when masquerading")
	flags.BoolVar(&o.forwardRules, "iptables-forward-rules", true, "accept the pod network's packets where the node forwards")
	flags.IntVar(&o.resyncSeconds, "iptables-resync", 5, "seconds after which rules of iptables are checked again")
	flags.StringVar(&o.healthzIP, "healthz-ip", "0.0.0.0", "the address of /healthz")
	flags.IntVar(&o.healthzPort, "healthz-port", 0, "the port of /healthz; 0 means that it is not served")
	flags.BoolVar(&o.version, "version", false, "print the version and end")
	addVerbosity(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	}
	if err := setFromEnv(flags, lookupEnv); err != nil {
		return nil, err
	}
	switch {
	case o.version:
	case !o.kubeSubnetMgr:
		return nil, errors.New("--kube-subnet-mgr is not set: ranges come from Kubernetes, and etcd is not built in")
	case o.resyncSeconds < 1:
		return nil, fmt.Errorf("--iptables-resync is %d, and must be at least 1", o.resyncSeconds)
	case o.healthzPort < 0 || o.healthzPort > 65535:
		return nil, fmt.Errorf("--healthz-port is %d, and must be 0 to 65535", o.healthzPort)
	}
	return o, nil
}

// addVerbosity adds those flags of klog that flannel has, -v and -vmodule.
func addVerbosity(flags *flag.FlagSet) {
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	for _, name := range []string{"v", "vmodule"} {
		f := logging.Lookup(name)
		flags.Var(f.Value, f.Name, f.Usage)
	}
}

// setFromEnv sets the flags that the arguments do not have.
func setFromEnv(flags *flag.FlagSet, lookupEnv func(string) (string, bool)) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var errs []error
	flags.VisitAll(func(f *flag.Flag) {
		variable := "FLANNELD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, ok := lookupEnv(variable); ok && !given[f.Name] {
			if err := f.Value.Set(value); err != nil {
				errs = append(errs, fmt.Errorf("%s is %q: %w", variable, value, err))
			}
		}
	})
	return errors.Join(errs...)
}
