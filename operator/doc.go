// SPDX-License-Identifier: Apache-2.0

// Package operator is Trellis as a program: Run starts the controllers with the
// plugins and providers that its caller hands in. Somebody who adds a plugin of
// their own writes a main that calls Run with one entry more.
//
// It refuses to know any plugin or infrastructure by name.
package operator
