// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// The program as a pod runs it, with what the kubelet gives it. Nothing answers but its own node. The
// DNS server on loopback is not tested.
func TestTheProgramReportsWithWhatAPodHas(t *testing.T) {
	g, s := newShoot(t)
	host := ownAddress(t)
	folder := t.TempDir()
	program := filepath.Join(folder, "trellis-probe")
	out, err := exec.Command("go", "build", "-o", program, "../../cmd/trellis-probe").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	resolvConf := filepath.Join(folder, "resolv.conf")
	g.Expect(os.WriteFile(resolvConf, []byte("search kube-system.svc.example.internal svc.example.internal\nnameserver 127.0.0.1\nnameserver 192.0.2.53\n"), 0o600)).To(Succeed())
	server, err := url.Parse(s.url)
	g.Expect(err).NotTo(HaveOccurred())
	credentials := s.node(t, "alone")
	start := func(port string) *process {
		return begin(t, exec.Command(program, "--port="+port, "--kubelet-port="+port, "--interval=1s", "--report-interval=2s", "--credentials="+credentials, "--resolv-conf="+resolvConf),
			"NODE_NAME=alone", "POD_NAMESPACE="+system, "POD_IPS=10.99.0.9", "HOST_IPS="+host,
			"KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port())
	}
	// Another process may take a free port before the program does.
	port := freePort(t)
	one := start(port)
	g.Eventually(func() (int, error) {
		if one.cannotListen() {
			port = freePort(t)
			one = start(port)
		}
		response, err := http.Get("http://127.0.0.1:" + port + "/healthz")
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}).Should(Equal(http.StatusOK))
	g.Eventually(func() map[v1alpha1.CheckType]int32 {
		failing := map[v1alpha1.CheckType]int32{}
		for _, check := range s.report(t.Context(), "alone").Report.Checks {
			failing[check.Type] = check.Failing
		}
		return failing
	}).Should(Equal(map[v1alpha1.CheckType]int32{v1alpha1.CheckNodes: 0, v1alpha1.CheckServices: 1, v1alpha1.CheckDNS: 1}))
}

func TestTheProgramNamesWhatItLacks(t *testing.T) {
	g := NewWithT(t)
	program := exec.Command("go", "run", "../../cmd/trellis-probe")
	out, err := program.CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	g.Expect(string(out)).To(ContainSubstring("trellis-probe: the environment variables NODE_NAME and POD_IPS are required"))
}

// process is the program, until the test ends.
type process struct {
	ended chan struct{}
	log   bytes.Buffer // to be read when ended is closed
}

func begin(t *testing.T, command *exec.Cmd, env ...string) *process {
	t.Helper()
	p := &process{ended: make(chan struct{})}
	command.Env, command.Stdout, command.Stderr = env, &p.log, &p.log
	g := NewWithT(t)
	g.Expect(command.Start()).To(Succeed())
	var failed error
	go func() {
		failed = command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		if p.cannotListen() {
			return
		}
		_ = command.Process.Signal(syscall.SIGTERM)
		<-p.ended
		g.Expect(failed).NotTo(HaveOccurred(), p.log.String())
	})
	return p
}

// cannotListen reports whether the program has ended because its port was in use.
func (p *process) cannotListen() bool {
	select {
	case <-p.ended:
		return strings.Contains(p.log.String(), syscall.EADDRINUSE.Error())
	default:
		return false
	}
}

// freePort returns a TCP port that no process uses at the moment.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", ":0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// ownAddress returns an address of this machine at which a probe tests a node.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, each := range all {
		if prefix, err := netip.ParsePrefix(each.String()); err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr().String()
		}
	}
	t.Skip("this machine has no IPv4 address but loopback")
	return ""
}
