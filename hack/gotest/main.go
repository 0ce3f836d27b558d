// SPDX-License-Identifier: Apache-2.0

// Command gotest is `go test` with one sandbox for all packages that share one (see
// test/harness), and with a list of the packages that took longest. It ends with the
// process that started it, and so does everything that it started.
//
//	gotest -timeout 20m ./...
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/test/sandbox"
)

func main() {
	runtime.LockOSThread() // `go test` is killed when the thread that started it ends
	status, err := test(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		status = 1
	}
	os.Exit(status)
}

func test(args []string) (status int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// Linux sends this process a signal when its parent ends, as `make` does when it is killed.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return 0, err
	}
	file, unlock, err := sandboxFile()
	if err != nil {
		return 0, err
	}
	defer unlock()
	box, err := sandbox.Start(context.Background(), sandbox.OfRun)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, box.Stop()) }()
	variable, err := box.HandDown(file)
	if err != nil {
		return 0, err
	}

	var output bytes.Buffer
	command := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
	command.Env = append(os.Environ(), variable)
	command.Stdout, command.Stderr = io.MultiWriter(os.Stdout, &output), os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 3 * time.Second // after the interrupt
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = command.Run()
	printSlowest(output.String())
	if exit := (&exec.ExitError{}); errors.As(err, &exit) && ctx.Err() == nil {
		return max(1, exit.ExitCode()), nil
	}
	return 0, cmp.Or(context.Cause(ctx), err)
}

// sandboxFile is where the sandbox is described: beside this program, which `make` builds in
// the checkout. Its name is the same in each run, so that Go's cache of test results is of
// use, and so one run at a time has it.
func sandboxFile() (path string, unlock func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	file, err := os.OpenFile(program+".json", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return "", nil, fmt.Errorf("another test run has the sandbox of %s: wait for its end, or test single packages with go test", file.Name())
	}
	return file.Name(), func() { _ = file.Close() }, nil
}

var verdict = regexp.MustCompile(`(?m)^(?:ok  |FAIL)\t(\S+)\t([0-9.]+)s`)

// printSlowest prints the packages that took longest.
func printSlowest(output string) {
	all := verdict.FindAllStringSubmatch(output, -1)
	seconds := func(match []string) float64 { s, _ := strconv.ParseFloat(match[2], 64); return s }
	slices.SortFunc(all, func(a, b []string) int { return cmp.Compare(seconds(b), seconds(a)) })
	fmt.Println("\nThe packages that took longest:")
	for _, match := range all[:min(10, len(all))] {
		fmt.Printf("%7.1fs %s\n", seconds(match), match[1])
	}
}
