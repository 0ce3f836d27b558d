// SPDX-License-Identifier: Apache-2.0

// Package explain tells what the fields of a plugin's config mean: what the Go
// types say of them, by way of their JSON schema, and what the pipeline makes of
// them, by trying it.
//
// It refuses to know any field: a plugin that is added is explained, too.
package explain
