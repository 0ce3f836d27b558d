// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/needs"
	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// limitFile has the number of instances that each user can have. The usual one is 128.
const limitFile = "fs.inotify.max_user_instances"

// checkInotify returns an options.Invalid if the machine has too few instances of inotify left
// for this. Without them containerd and the kubelet end.
func checkInotify(planned needs.Counts) error {
	available, err := inotifyAvailable(planned.Amount().Inotify)
	if err != nil {
		return err
	}
	return enoughInotify(planned, available)
}

func enoughInotify(planned needs.Counts, available int) error {
	if needed := planned.Amount().Inotify; available < needed {
		return options.Invalidf("only %d instances of inotify are left of what %s allows, and this takes %d (%s); stop other sandboxes, or raise it: sysctl -w %s=1024",
			available, limitFile, needed, planned, limitFile)
	}
	return nil
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
