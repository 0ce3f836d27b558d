// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

const (
	// outage is how long the API server is gone.
	outage = 2 * time.Minute
	// silence is how long it may take until silent probes are unknown: the image is rolled out, the
	// last report grows stale, and that lasts.
	silence = 4 * time.Minute
)

func TestWhatIsUnknownIsNamed(t *testing.T) {
	sideBySide(t, 8*time.Minute)
	l := newLandscape(t, 2)
	l.talks()
	restart := func(images map[string]string) func() error {
		return func() error {
			l.stop()
			l.operate(images)
			return nil
		}
	}
	l.suffers(fault{
		name: "image of the probe broken", breaks: restart(map[string]string{"trellis-probe": "sandbox.invalid/none:v1"}), mends: restart(nil),
		verdict: "Unknown", within: silence, message: "TooFewReports: .* the probes of 2 of 2 nodes \\(node-1 and node-2\\) have not reported .* of the DaemonSet trellis-probe in kube-system do not run.*",
	})
	server := l.apiServer()
	t.Cleanup(func() { _ = server.Signal(syscall.SIGCONT) })
	var began time.Time
	l.suffers(fault{
		name: "API server gone for 2 minutes",
		breaks: func() error {
			began = time.Now()
			return server.Signal(syscall.SIGSTOP)
		},
		verdict: "Unknown", within: outage, message: "ShootNotObserved: .*",
		mends: func() error {
			l.Consistently(l.verdict).WithTimeout(time.Until(began.Add(outage))).Should(Equal("Unknown"))
			return server.Signal(syscall.SIGCONT)
		},
	})
}

// apiServer is the process of the shoot's API server. It is the sandbox's own.
func (l *landscape) apiServer() *os.Process {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	l.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		command, _ := os.ReadFile(file) // it may have ended
		if !bytes.HasPrefix(command, []byte("kube-apiserver\x00")) || !bytes.Contains(command, []byte(l.Dir+"/pki/shoots/")) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		l.Expect(err).NotTo(HaveOccurred())
		process, err := os.FindProcess(id)
		l.Expect(err).NotTo(HaveOccurred())
		return process
	}
	l.t.Fatal("the shoot has no API server")
	return nil
}
