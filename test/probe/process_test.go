// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// The program as a pod runs it, with what the kubelet gives it. Nothing answers but its own node.
func TestTheProgramReportsWithWhatAPodHas(t *testing.T) {
	g, s := newShoot(t)
	folder := t.TempDir()
	program := filepath.Join(folder, "trellis-probe")
	out, err := exec.Command("go", "build", "-o", program, "../../cmd/trellis-probe").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	resolvConf := filepath.Join(folder, "resolv.conf")
	g.Expect(os.WriteFile(resolvConf, []byte("search kube-system.svc.example.internal svc.example.internal\nnameserver 127.0.0.1\n"), 0o600)).To(Succeed())
	server, err := url.Parse(s.url)
	g.Expect(err).NotTo(HaveOccurred())
	port := strconv.Itoa(freePort(t))

	var log bytes.Buffer
	process := exec.Command(program, "--port="+port, "--kubelet-port="+server.Port(), "--interval=1s", "--report-interval=2s",
		"--credentials="+s.node(t, "alone"), "--resolv-conf="+resolvConf)
	process.Env = []string{
		"NODE_NAME=alone", "POD_NAMESPACE=" + system, "POD_IPS=10.99.0.9", "HOST_IPS=" + server.Hostname(),
		"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port(),
	}
	process.Stdout, process.Stderr = &log, &log
	g.Expect(process.Start()).To(Succeed())
	t.Cleanup(func() {
		g.Expect(process.Process.Signal(syscall.SIGTERM)).To(Succeed())
		g.Expect(process.Wait()).To(Succeed(), log.String())
	})
	g.Eventually(func() (int, error) {
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

func freePort(t *testing.T) int {
	listener, err := net.Listen("tcp", ":0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
