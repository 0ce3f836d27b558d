// SPDX-License-Identifier: Apache-2.0

// Command trellis-probe tests from a pod of each node what pods rely on, and reports it to the
// API server of its cluster as a NodeConnectivity. It needs no privileges.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
	"github.com/trellis-network/trellis/internal/probe/measure"
	"github.com/trellis-network/trellis/internal/probe/podnet"
	"github.com/trellis-network/trellis/internal/probe/respond"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "trellis-probe:", err)
		os.Exit(1)
	}
}

// options are the flags. What the pod's environment states is not among them.
type options struct {
	probe.Settings
	credentials, resolvConf string
}

func parse() (*options, error) {
	o := &options{Settings: probe.Settings{
		Node: os.Getenv("NODE_NAME"), Namespace: cmp.Or(os.Getenv("POD_NAMESPACE"), "kube-system"), Version: version(),
	}}
	var port, kubelet uint
	flag.StringVar(&o.Service, "service", "trellis-probe", "name of the Service of all probes, in the namespace of the environment variable POD_NAMESPACE")
	flag.UintVar(&port, "port", 8099, "TCP and UDP port of all probes")
	flag.UintVar(&kubelet, "kubelet-port", 10250, "TCP port of nodes that tests of pod to node connect to; it may refuse connections")
	flag.IntVar(&o.Peers, "peers", 5, "number of nodes to test, besides one that changes every five minutes; at most 7")
	flag.StringVar(&o.Outside, "outside", "", "HOST:PORT outside of the cluster to connect to; none by default")
	flag.DurationVar(&o.Interval, "interval", 10*time.Second, "time between two attempts to reach a target")
	flag.DurationVar(&o.ReportInterval, "report-interval", time.Minute, "time between two reports without news")
	flag.StringVar(&o.credentials, "credentials", "/var/run/secrets/kubernetes.io/serviceaccount", "folder with the files token and ca.crt")
	flag.StringVar(&o.resolvConf, "resolv-conf", "/etc/resolv.conf", "file with the DNS servers of the pod")
	flag.Parse()
	var errs [2]error
	o.PodIPs, errs[0] = addresses("POD_IPS")
	o.HostIPs, errs[1] = addresses("HOST_IPS")
	switch {
	case o.Node == "" || len(o.PodIPs) == 0:
		return nil, errors.New("the environment variables NODE_NAME and POD_IPS are required")
	case flag.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case port == 0 || port > 65535 || kubelet == 0 || kubelet > 65535:
		return nil, errors.New("--port and --kubelet-port must be from 1 to 65535")
	case o.Peers < 1 || o.Peers > 7:
		return nil, errors.New("--peers must be from 1 to 7")
	case o.Interval < time.Second || o.ReportInterval < time.Second:
		return nil, errors.New("--interval and --report-interval must be 1s at least")
	}
	o.Port, o.KubeletPort = uint16(port), uint16(kubelet)
	if o.Outside != "" {
		if _, _, err := net.SplitHostPort(o.Outside); err != nil {
			return nil, fmt.Errorf("--outside: %w", err)
		}
	}
	return o, errors.Join(errs[:]...)
}

// addresses returns those of an environment variable, which the downward API separates by commas.
func addresses(variable string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, text := range strings.FieldsFunc(os.Getenv(variable), func(r rune) bool { return r == ',' }) {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", variable, err)
		}
		all = append(all, address)
	}
	return all, nil
}

func run(ctx context.Context) error {
	o, err := parse()
	if err != nil {
		return err
	}
	resolvConf, err := os.ReadFile(o.resolvConf)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if err := answer(ctx, o, fail); err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	log.Info("The probe begins", "node", o.Node, "version", o.Version, "addresses", o.PodIPs)
	measuring := measure.Measure{MTU: mtu(o.PodIPs), Dial: measure.DialOthers}
	one := probe.Probe{
		Settings:     o.Settings,
		API:          &apiserver.Client{URL: apiServer(), Credentials: o.credentials},
		Attempt:      measuring.Attempt,
		PodInterface: func() *v1alpha1.PodInterface { return podInterface(o.PodIPs) },
		Chance:       rand.Float64,
		Log:          log,
	}
	one.DNS.Servers, one.DNS.Name = podnet.DNS(string(resolvConf), o.Namespace, o.Service)
	one.Run(ctx)
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// answer answers other probes until ctx ends, and calls fail if it cannot.
func answer(ctx context.Context, o *options, fail context.CancelCauseFunc) error {
	at := ":" + strconv.Itoa(int(o.Port))
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	datagrams, err := net.ListenUDP("udp", &net.UDPAddr{Port: int(o.Port)})
	if err != nil {
		return err
	}
	raw, err := datagrams.SyscallConn()
	if err != nil {
		return err
	}
	if err := measure.ForbidFragments(raw); err != nil {
		return fmt.Errorf("forbid fragments: %w", err)
	}
	identity := respond.Identity{Node: o.Node}
	for _, address := range o.HostIPs {
		identity.Addresses = append(identity.Addresses, address.String())
	}
	go func() { fail(respond.HTTP(ctx, listener, identity)) }()
	go func() { fail(respond.Datagrams(ctx, datagrams)) }()
	return nil
}

// apiServer returns the URL of the API server, as every pod learns it.
func apiServer() string {
	return "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
}

// interfaces returns those of the pod.
func interfaces() []podnet.Interface {
	found, _ := net.Interfaces()
	var all []podnet.Interface
	for _, one := range found {
		made := podnet.Interface{Name: one.Name, MTU: one.MTU}
		addresses, _ := one.Addrs()
		for _, address := range addresses {
			if prefix, err := netip.ParsePrefix(address.String()); err == nil {
				made.Prefixes = append(made.Prefixes, prefix)
			}
		}
		all = append(all, made)
	}
	return all
}

func podInterface(podIPs []netip.Addr) *v1alpha1.PodInterface {
	route, _ := os.ReadFile("/proc/net/route")
	arp, _ := os.ReadFile("/proc/net/arp")
	return podnet.PodInterface(interfaces(), podIPs, string(route), string(arp))
}

// mtu returns that of the pod's interface, 0 if it is unknown.
func mtu(podIPs []netip.Addr) int {
	if found := podnet.PodInterface(interfaces(), podIPs, "", ""); found != nil {
		return int(found.MTU)
	}
	return 0
}

// version returns that of the program's main module.
func version() string {
	if info, has := debug.ReadBuildInfo(); has && info.Main.Version != "" {
		return info.Main.Version[:min(len(info.Main.Version), 64)]
	}
	return "(devel)"
}
