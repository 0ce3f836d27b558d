// SPDX-License-Identifier: Apache-2.0

// Package operator is Trellis as a program: Run starts the controllers with the plugins
// and providers of its caller. To add a plugin, write a main that calls Run with one more
// entry.
//
// The package names no plugin and no infrastructure.
package operator
