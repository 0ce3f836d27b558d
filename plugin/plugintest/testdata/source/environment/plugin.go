// SPDX-License-Identifier: Apache-2.0

// Package environment has a hook that reads a variable, two calls away.
package environment

import sys "os"

type definition struct{}

func (definition) Render() string { return agent() }

func agent() string { return options{}.image() }

type options struct{}

func (options) image() string {
	image, _ := sys.LookupEnv("AGENT_IMAGE")
	return image
}
