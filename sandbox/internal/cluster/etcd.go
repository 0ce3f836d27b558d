// SPDX-License-Identifier: Apache-2.0

// Package cluster describes how each component of a Kubernetes control plane is
// started: with which flags, files and credentials.
package cluster

import (
	"path/filepath"

	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/workdir"
)

// etcd listens on sockets in its own directory, which is also the working
// directory of the API servers. Other users of the machine cannot reach a socket
// in a private directory, but they could reach a port without TLS. The names are
// relative because a socket's path may have at most 108 bytes, and have no slash
// because etcd reads only the host part of the URL.
const (
	clientSocket = "client.sock"

	etcdClientURL = "unix://" + clientSocket
	etcdPeerURL   = "unix://peer.sock"
	// etcd requires an address to advertise to other members. There are no other
	// members, and no process listens on this address.
	etcdUnusedURL = "http://127.0.0.1:2380"
)

// Etcd describes the etcd that all clusters share, each with its own prefix. It
// does not wait for the disk, as its data is never read by another sandbox.
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

// EtcdSocket is the file that exists once etcd accepts clients.
func EtcdSocket(dir *workdir.Dir) string { return filepath.Join(dir.Etcd(), clientSocket) }
