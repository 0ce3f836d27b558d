// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// line leads to the seed until it is cut.
type line struct {
	listener net.Listener
	mutex    sync.Mutex
	ends     []io.Closer
}

// cut ends all connections, and refuses others.
func (l *line) cut() {
	_ = l.listener.Close()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, end := range l.ends {
		_ = end.Close()
	}
}

// throughALine returns the same seed behind a line.
func (l *live) throughALine() (*live, *line) {
	l.t.Helper()
	config, err := clientcmd.LoadFromFile(l.kubeconfig)
	l.Expect(err).NotTo(HaveOccurred())
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	server, err := url.Parse(cluster.Server)
	l.Expect(err).NotTo(HaveOccurred())
	between := &line{}
	between.listener, err = net.Listen("tcp", "127.0.0.1:0")
	l.Expect(err).NotTo(HaveOccurred())
	l.t.Cleanup(between.cut)
	cluster.Server, cluster.TLSServerName = "https://"+between.listener.Addr().String(), server.Hostname()
	go func() {
		for {
			here, err := between.listener.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", server.Host)
			if err != nil {
				_ = here.Close()
				continue
			}
			between.mutex.Lock()
			between.ends = append(between.ends, here, there)
			between.mutex.Unlock()
			go func() { _, _ = io.Copy(there, here) }()
			go func() { _, _ = io.Copy(here, there) }()
		}
	}()
	copied := *l
	copied.kubeconfig = l.t.TempDir() + "/kubeconfig"
	l.Expect(clientcmd.WriteToFile(*config, copied.kubeconfig)).To(Succeed())
	return &copied, between
}

func TestAWatchTellsThatTheSeedIsGone(t *testing.T) {
	l := seedOf(t)
	namespace := l.client.Namespace(t, "status-")
	l.becomes(l.network(namespace, "mine"), corev1beta1.ConditionTrue)
	watching, between := l.throughALine()
	reader, writer := io.Pipe()
	var so, problems printed
	go func() { _, _ = io.Copy(&so, reader) }()
	watching.watched(writer, &problems, "-n", namespace)
	l.Eventually(so.String).Should(ContainSubstring("/mine  noop  healthy\n"))
	l.Expect(problems.String()).To(BeEmpty())
	between.cut()
	l.Eventually(problems.String).Should(And(ContainSubstring("watch the Networks of the seed "), ContainSubstring("connection refused; status tries again\n")))
	_ = reader.Close()

}
