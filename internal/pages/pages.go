// SPDX-License-Identifier: Apache-2.0

// Package pages reads long lists from an API server page by page, so that a large
// cluster costs the memory of one page.
package pages

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Size is the number of objects on a page, unless a caller has a reason for another.
const Size = 500

// Each reads a list page by page and calls visit with each page, until visit returns
// false or the list ends. empty returns a list of the kind to read. The reader must be
// a live one, since caches have no pages.
func Each[L client.ObjectList](ctx context.Context, live client.Reader, size int64, empty func() L, visit func(L) bool, options ...client.ListOption) error {
	next := ""
	for {
		page := empty()
		if err := live.List(ctx, page, append(options[:len(options):len(options)], client.Limit(size), client.Continue(next))...); err != nil {
			return err
		}
		if next = page.GetContinue(); !visit(page) || next == "" {
			return nil
		}
	}
}
