// SPDX-License-Identifier: Apache-2.0

// Package installed tests operators as they are installed: with the rights of the chart, and
// beside each other.
package installed
