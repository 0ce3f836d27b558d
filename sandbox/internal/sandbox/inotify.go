// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// The instances of inotify that a node has (the kubelet 6, containerd 2, kube-proxy 1), and
// that a cluster has (the API server 3, the controller-manager 5). Containers may have more.
const (
	instancesOfNode    = 9
	instancesOfCluster = 8
)

// limitFile has the number of instances that each user can have. The usual one is 128.
const limitFile = "fs.inotify.max_user_instances"

// checkInotify returns an options.Invalid if the machine has too few instances of inotify left
// for clusters with real nodes. Without them containerd and the kubelet end.
func checkInotify(clusters, nodes int) error {
	needed := clusters*instancesOfCluster + nodes*instancesOfNode
	available, err := inotifyAvailable(needed)
	if err != nil {
		return err
	}
	return enoughInotify(available, needed, nodes)
}

func enoughInotify(available, needed, nodes int) error {
	if available >= needed {
		return nil
	}
	return options.Invalidf("%d real nodes and the clusters need %d instances of inotify, but only %d are left of what %s allows; stop other sandboxes, or raise it: sysctl -w %s=1024",
		nodes, needed, available, limitFile, limitFile)
}

// inotifyAvailable returns how many instances this user can still have, but no more than
// needed.
func inotifyAvailable(needed int) (int, error) {
	for i := range needed {
		instance, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if errors.Is(err, unix.EMFILE) {
			return i, nil
		}
		if err != nil {
			return i, err
		}
		defer unix.Close(instance)
	}
	return needed, nil
}
