// Package cluster knows how each component of a Kubernetes control plane is
// called: which flags, which files, which credentials.
package cluster

import (
	"path/filepath"

	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/workdir"
)

// etcd listens on sockets in its own directory, in which the API servers run
// too. A socket in a private directory is closed to other users of the machine,
// as a port without TLS would not be. The names are relative because a socket's
// path may have no more than 108 bytes, and without a slash because etcd takes
// the host part of the URL only.
const (
	clientSocket = "client.sock"

	etcdClientURL = "unix://" + clientSocket
	etcdPeerURL   = "unix://peer.sock"
	// etcd must be told addresses which it could tell other members. There are
	// none, and nobody listens there.
	etcdUnusedURL = "http://127.0.0.1:2380"
)

// Etcd is the one store of all clusters; each has its own prefix. It does not
// wait for the disk: its data is never used again.
func Etcd(dir *workdir.Dir) process.Spec {
	return process.Spec{
		Component: "etcd",
		Stage:     process.Storage,
		Dir:       dir.Etcd(),
		Log:       filepath.Join(dir.Logs(""), "etcd.log"),
		Env:       smallHeap,
		Args: []string{
			"--name=sandbox",
			"--data-dir=" + dir.Etcd() + "/data",
			"--unsafe-no-fsync",
			"--listen-client-urls=" + etcdClientURL,
			"--advertise-client-urls=" + etcdUnusedURL,
			"--listen-peer-urls=" + etcdPeerURL,
			"--initial-advertise-peer-urls=" + etcdUnusedURL,
			"--initial-cluster=sandbox=" + etcdUnusedURL,
			"--log-level=warn",
		},
	}
}

// EtcdSocket is the file that appears when etcd takes clients.
func EtcdSocket(dir *workdir.Dir) string { return filepath.Join(dir.Etcd(), clientSocket) }
