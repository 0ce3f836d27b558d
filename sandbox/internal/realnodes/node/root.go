// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/cgroups"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// programs is where a node has the programs of the sandbox.
const programs = "/opt/node/bin"

// directories are those of a node's root. Those of its state stay while the node is down.
var directories = []string{
	"dev", "etc/cni/net.d", "etc/containerd", "home", "mnt", "opt/cni/bin", "opt/node/bin", "proc", "root", "run", "sys",
	"tmp", "usr", "var/lib/containerd", "var/lib/kubelet", "var/lib/cni", "var/lib/dbus", "var/log/pods",
}

// fromMachine are files of the machine's /etc that programs and libraries read. Without
// protocols, nft writes numbers for names, and kube-proxy then deletes its own rules.
var fromMachine = []string{
	"alternatives", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "nsswitch.conf", "passwd", "protocols", "services", "ssl",
}

// wantedSysctls are settings of the whole machine that the kubelet would write. The node
// shows it files that have these values already, so that it writes nothing.
var wantedSysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// enterRoot makes the root file system of a node in its directory, and makes it the root of
// this process, which must be in a mount namespace of its own. The machine sees none of the
// mounts.
func enterRoot(p *plan.Plan, node plan.Node) error {
	root := node.Root
	if err := mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	for _, directory := range directories {
		if err := os.MkdirAll(filepath.Join(root, directory), 0o755); err != nil {
			return err
		}
	}
	// The manager has made these for the images, and only root may enter them. Containers that are
	// not root mount them.
	for _, directory := range []string{"var", "var/lib"} {
		if err := os.Chmod(filepath.Join(root, directory), 0o755); err != nil {
			return err
		}
	}
	if err := bind(root, root); err != nil {
		return err
	}
	for _, step := range []func(string) error{mountUsr, mountKernel, mountTemporary, copyEtc} {
		if err := step(root); err != nil {
			return err
		}
	}
	if err := cgroups.Mount(filepath.Join(root, "sys/fs/cgroup")); err != nil {
		return err
	}
	if err := hideSysctls(root); err != nil {
		return err
	}
	if err := bindReadOnly(p.Programs, filepath.Join(root, programs)); err != nil {
		return err
	}
	return pivot(root)
}

// pivot makes root the root, forgets the former one, and lets mounts of containers and the
// kubelet reach each other.
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	// The former root lies on top of the new one.
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the former root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return mount("", "/", "", unix.MS_SHARED|unix.MS_REC, "")
}

// What a node writes to /usr, and where the kernel prepares that, below the node's root.
const usrUpper, usrWork = "var/lib/usr/upper", "var/lib/usr/work"

// mountUsr shows the machine's programs and libraries. The node can write there, and sees only
// itself what it writes. Agents of networks mount /lib/modules, even if it is empty.
func mountUsr(root string) error {
	for _, directory := range []string{usrWork, usrUpper + "/lib/modules"} {
		if err := os.MkdirAll(filepath.Join(root, directory), 0o755); err != nil {
			return err
		}
	}
	// Relative paths have no comma, which would end an option.
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := mount("overlay", "usr", "overlay", 0, "lowerdir=/usr,upperdir="+usrUpper+",workdir="+usrWork); err != nil {
		return err
	}
	// These are links into /usr, or else directories.
	for _, name := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		target := filepath.Join(root, name)
		link, err := os.Readlink("/" + name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil:
			if err := os.Symlink(link, target); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		default:
			if err := os.MkdirAll(target, 0o755); err != nil {
				return err
			}
			if err := bindReadOnly("/"+name, target); err != nil {
				return err
			}
		}
	}
	return nil
}

// mountKernel mounts what the kernel shows, for the namespaces of this process.
func mountKernel(root string) error {
	if err := mount("proc", filepath.Join(root, "proc"), "proc", 0, ""); err != nil {
		return err
	}
	if err := mount("sysfs", filepath.Join(root, "sys"), "sysfs", 0, ""); err != nil {
		return err
	}
	// A kernel without eBPF has no such directory.
	err := mount("bpf", filepath.Join(root, "sys/fs/bpf"), "bpf", 0, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return mount("/dev", filepath.Join(root, "dev"), "", unix.MS_BIND|unix.MS_REC, "")
}

func mountTemporary(root string) error {
	for name, mode := range map[string]string{"run": "mode=755", "tmp": "mode=1777"} {
		if err := mount("tmpfs", filepath.Join(root, name), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, mode); err != nil {
			return err
		}
	}
	for _, directory := range []string{"run/lock", "run/containerd"} {
		if err := os.MkdirAll(filepath.Join(root, directory), 0o755); err != nil {
			return err
		}
	}
	err := os.Symlink("/run", filepath.Join(root, "var/run"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// copyEtc copies files of the machine that the node does not have yet.
func copyEtc(root string) error {
	for _, name := range fromMachine {
		from, to := filepath.Join("/etc", name), filepath.Join(root, "etc", name)
		if err := copyTree(from, to); err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
	}
	return nil
}

// copyTree copies a file, a link or a directory. What is at the target already stays, and what
// is not at the source is left out.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if _, err := os.Lstat(target); err == nil && !entry.IsDir() {
			return nil
		}
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case entry.Type().IsRegular():
			return copyFile(path, target)
		}
		return nil
	})
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// hideSysctls binds files with the wanted values over settings of the whole machine.
func hideSysctls(root string) error {
	dir := filepath.Join(root, "run/sysctls")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, value := range wantedSysctls {
		target := filepath.Join(root, "proc/sys", name)
		if _, err := os.Stat(target); err != nil {
			continue // the kernel does not have it
		}
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := bind(file, target); err != nil {
			return err
		}
	}
	return nil
}

func bind(from, to string) error { return mount(from, to, "", unix.MS_BIND, "") }

func bindReadOnly(from, to string) error {
	if err := bind(from, to); err != nil {
		return err
	}
	return mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		return &fs.PathError{Op: "mount", Path: target, Err: err}
	}
	return nil
}
