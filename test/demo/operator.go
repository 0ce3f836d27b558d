// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/trellis-network/trellis/test/standalone"
)

// process is the operator's process.
type process struct {
	command *exec.Cmd
	log     string
	// ended receives the result when the operator ends.
	ended chan error
}

// startOperator runs the operator with its own identity.
func (l *landscape) startOperator(program string) error {
	config := filepath.Join(l.Dir, "operator.yaml")
	if err := os.WriteFile(config, []byte(standalone.Configuration), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(l.Dir, "operator.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(program, "--kubeconfig", l.Sandbox.Seed.Users[standalone.User], "--config", config)
	command.Stdout, command.Stderr = log, log
	endWithUs(command)
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	l.say("operator started as user %s, process %d, log %s", standalone.User, command.Process.Pid, log.Name())
	l.operator = &process{command: command, log: log.Name(), ended: make(chan error, 1)}
	go func() { l.operator.ended <- command.Wait() }()
	return nil
}

func (l *landscape) stopOperator() {
	_ = l.operator.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-l.operator.ended:
	case <-time.After(10 * time.Second):
		_ = l.operator.command.Process.Kill()
	}
}

// operatorEnded is the error for an operator that ended by itself, with the last
// lines of its log.
func (l *landscape) operatorEnded(err error) error {
	l.operator.ended <- err // stopOperator need not wait
	const lines = 10
	log, _ := os.ReadFile(l.operator.log)
	last := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	last = last[max(0, len(last)-lines):]
	return fmt.Errorf("the operator has ended (%v); the end of its log:\n%s", err, bytes.Join(last, []byte("\n")))
}
