// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Here flanneld is a script, and /run/flannel a folder of the test's.
func TestAPodIsReadyOnceItsOwnDaemonHasWritten(t *testing.T) {
	for _, test := range []struct{ name, left, daemon string }{
		{"a new node", "", "printf FLANNEL_MTU=1450 > $FILE"},
		{"another daemon was there", "FLANNEL_MTU=1400", "printf FLANNEL_MTU=1450 > $FILE.new; mv $FILE.new $FILE"},
		{"it writes into what is there", "FLANNEL_MTU=1400", "printf FLANNEL_MTU=1450 > $FILE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			node := newNode(t)
			if test.left != "" {
				g.Expect(os.WriteFile(node.file, []byte(test.left), 0o600)).To(Succeed())
				g.Expect(node.ready()).To(Succeed(), "so it was for the daemon before")
			}
			for range 2 { // lives of one pod's container
				g.Expect(node.start("printf '%s ' \"$@\" > $FILE.args")).To(Succeed())
				g.Expect(node.ready()).NotTo(Succeed())
				g.Expect(os.ReadFile(node.file + ".args")).To(BeEquivalentTo("--ip-masq --kube-subnet-mgr "))
				if test.left != "" {
					g.Expect(os.ReadFile(node.file)).To(BeEquivalentTo(test.left), "pods start with it meanwhile")
				}
			}
			g.Expect(node.start(test.daemon)).To(Succeed())
			g.Expect(node.ready()).To(Succeed())
			g.Expect(os.ReadFile(node.file)).To(BeEquivalentTo("FLANNEL_MTU=1450"))
		})
	}
}

// An empty file starts no pod.
func TestAnEmptyFileMakesNoPodReady(t *testing.T) {
	g := NewWithT(t)
	node := newNode(t)
	g.Expect(node.start(": > $FILE")).To(Succeed())
	g.Expect(node.ready()).NotTo(Succeed())
}

// node is where a test's daemon runs.
type node struct {
	folder, file   string
	command, probe []string
}

func newNode(t *testing.T) *node {
	t.Helper()
	folder := t.TempDir()
	daemon := build(t, "").container("kube-flannel")
	n := &node{folder: folder, file: filepath.Join(folder, "subnet.env")}
	n.command, n.probe = n.here(append(daemon.Command, daemon.Args...)), n.here(daemon.ReadinessProbe.Exec.Command)
	return n
}

// here leads a command from the node's folders to the test's.
func (n *node) here(command []string) []string {
	replaced := make([]string, len(command))
	for i, word := range command {
		replaced[i] = strings.NewReplacer("/run/flannel", n.folder, "/opt/bin", n.folder).Replace(word)
	}
	return replaced
}

// start runs a daemon that does this, and ends.
func (n *node) start(script string) error {
	program := filepath.Join(n.folder, "flanneld")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nFILE="+n.file+"\n"+script+"\n"), 0o700); err != nil {
		return err
	}
	return exec.Command(n.command[0], n.command[1:]...).Run()
}

func (n *node) ready() error { return exec.Command(n.probe[0], n.probe[1:]...).Run() }
