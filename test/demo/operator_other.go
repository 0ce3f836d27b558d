// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "os/exec"

// endWithUs does nothing where the kernel cannot tie a process to its parent.
func endWithUs(*exec.Cmd) {}
