// SPDX-License-Identifier: Apache-2.0

// Package fielderror makes error messages about fields short and helpful: it cuts long
// values, and guesses which name an author meant.
package fielderror
