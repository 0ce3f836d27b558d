// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/sandbox"
)

// process is a process of Linux whose use of the machine is read from /proc.
type process int

// tick is the unit of time in /proc.
const tick = 10 * time.Millisecond

// cpu returns the processor time that the process has taken, 0 if there is no such process.
func (p process) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// processes are several of them.
type processes []process

// cpu returns the processor time that all have taken together.
func (p processes) cpu() (sum time.Duration) {
	for _, each := range p {
		sum += each.cpu()
	}
	return sum
}

// memory returns how much memory the process has, and has had at most, in MiB.
func (p process) memory() (now, peak float64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	of := func(name string) float64 {
		found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
		if found == nil {
			return 0
		}
		kB, _ := strconv.Atoi(string(found[1]))
		return float64(kB) / 1024
	}
	return of("VmRSS"), of("VmHWM")
}

// component returns the process of a sandbox that was started under this name with an argument, if
// that is not empty.
func component(tb testing.TB, box *sandbox.Sandbox, name, argument string) process {
	tb.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	for _, file := range lines {
		raw, err := os.ReadFile(file)
		line := strings.Split(string(raw), "\x00")
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || line[0] != name || !strings.Contains(string(raw), argument) {
			continue
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])); len(fields) > 1 && fields[1] == strconv.Itoa(box.PID) {
			return process(pid)
		}
	}
	tb.Fatalf("the sandbox runs no %s", name)
	return 0
}

// apiServer returns the process of the API server at an address.
func apiServer(tb testing.TB, box *sandbox.Sandbox, address string) process {
	tb.Helper()
	return component(tb, box, "kube-apiserver", "--secure-port="+address[strings.LastIndexByte(address, ':')+1:]+"\x00")
}

// operator is cmd/trellis-operator as a process.
type operator struct {
	process
	command *exec.Cmd
	// address is where it serves its metrics and profiles.
	address string
}

// metricsAddress is where the operator serves its metrics.
const metricsAddress = "127.0.0.1:28080"

// start builds and starts the operator with these settings beside those that each operator here
// has, and with these environment variables, and returns when it serves its metrics. It ends with
// stop, or with the test.
func start(tb testing.TB, kubeconfig, settings string, variables ...string) *operator {
	tb.Helper()
	g, folder := NewWithT(tb), tb.TempDir()
	program := filepath.Join(folder, "trellis-operator")
	output, err := exec.CommandContext(tb.Context(), "go", "build", "-o", program, "../../cmd/trellis-operator").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	config := filepath.Join(folder, "config.yaml")
	g.Expect(os.WriteFile(config, []byte(`apiVersion: config.trellis.network/v1alpha1
kind: OperatorConfiguration
metrics: {bindAddress: "`+metricsAddress+`"}
healthProbes: {bindAddress: "0"}
clientConnection: {qps: 10000, burst: 10000}
shootClientConnection: {qps: 10000, burst: 10000, allowedAddresses: [127.0.0.0/8]}
connectivityProbe: {disabled: true}
debugging: {enableProfiling: true}
`+settings), 0o600)).To(Succeed())
	log, err := os.Create(filepath.Join(folder, "log"))
	g.Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	o := &operator{command: exec.Command(program, "--kubeconfig", kubeconfig, "--config", config), address: "http://" + metricsAddress}
	o.command.Stdout, o.command.Stderr, o.command.Env = log, log, append(os.Environ(), variables...)
	o.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	g.Expect(o.command.Start()).To(Succeed())
	o.process = process(o.command.Process.Pid)
	tb.Cleanup(func() {
		o.stop()
		if tb.Failed() {
			text, _ := os.ReadFile(log.Name())
			tb.Logf("the operator's log ends:\n%s", text[max(0, len(text)-5000):])
		}
	})
	g.Eventually(func() error { _, err := o.counters(); return err }).Should(Succeed())
	return o
}

// stop ends the operator.
func (o *operator) stop() {
	if o.command.ProcessState == nil {
		_ = o.command.Process.Signal(syscall.SIGTERM)
		_ = o.command.Wait()
	}
}

// counters are metrics by their names with labels, as Prometheus writes them.
type counters map[string]float64

// get reads what the operator serves beside its metrics.
func (o *operator) get(path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, o.address+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

// counters reads the operator's metrics.
func (o *operator) counters() (counters, error) {
	raw, err := o.get("/metrics")
	if err != nil {
		return nil, err
	}
	found := counters{}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		if at := strings.LastIndexByte(lines.Text(), ' '); at > 0 {
			if value, err := strconv.ParseFloat(lines.Text()[at+1:], 64); err == nil {
				found[lines.Text()[:at]] = value
			}
		}
	}
	return found, nil
}

// requests returns the number of requests to a host by their method, and of the conflicts among
// them as "409".
func (c counters) requests(host string) counters {
	found := counters{}
	for series, value := range c {
		match := requestSeries.FindStringSubmatch(series)
		if match == nil || match[2] != host {
			continue
		}
		found[match[3]] += value
		if match[1] == "409" {
			found["409"] += value
		}
	}
	return found
}

var requestSeries = regexp.MustCompile(`^rest_client_requests_total\{code="(.*)",host="(.*)",method="(.*)"\}$`)

// since returns how much the counters have grown.
func (c counters) since(before counters) counters {
	grown := maps.Clone(c)
	for name, value := range before {
		grown[name] -= value
	}
	return grown
}

// plus adds other counters.
func (c counters) plus(others counters) counters {
	sum := maps.Clone(others)
	for name, value := range c {
		sum[name] += value
	}
	return sum
}

// all returns the number of requests.
func (c counters) all() (sum float64) {
	for name, value := range c {
		if name != "409" {
			sum += value
		}
	}
	return sum
}

func TestTheCPUOfAProcessIsRead(t *testing.T) {
	g, own := NewWithT(t), process(os.Getpid())
	g.Eventually(func() time.Duration { // which takes time
		for range 1000 {
			_, _ = own.memory()
		}
		return own.cpu()
	}).Should(BeNumerically(">", tick))
	now, peak := own.memory()
	g.Expect(now).To(BeNumerically(">", 1))
	g.Expect(peak).To(BeNumerically(">=", now))
}

func TestRequestsAreCountedByMethod(t *testing.T) {
	all := counters{
		`rest_client_requests_total{code="200",host="shoot",method="GET"}`:         3,
		`rest_client_requests_total{code="409",host="shoot",method="PATCH"}`:       1,
		`rest_client_requests_total{code="200",host="shoot",method="PATCH"}`:       2,
		`rest_client_requests_total{code="200",host="127.0.0.1:1",method="PATCH"}`: 9,
	}
	requests := all.requests("shoot")
	NewWithT(t).Expect(requests).To(Equal(counters{"GET": 3, "PATCH": 3, "409": 1}))
	NewWithT(t).Expect(requests.since(counters{"GET": 1}).all()).To(BeEquivalentTo(5))
}
