// SPDX-License-Identifier: Apache-2.0

// Package explain describes the fields of a plugin's config: with the JSON schema of its
// Go type, which has the doc comments, and with the classes of changes that the plugin
// declares. It knows no field by name.
package explain
