// SPDX-License-Identifier: Apache-2.0

// Package explain describes the fields of a plugin's config: with the documentation of
// the Go types, by way of their JSON schema, and with what the plugin declares of changes.
//
// It knows no field by name, so that it also explains those of other plugins.
package explain
