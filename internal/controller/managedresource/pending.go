// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// mostNamed bounds how many objects a message names, and how many finalizers of each.
	mostNamed = 5
	// mostMessage bounds the message.
	mostMessage = 2048
)

// describe completes "Waiting until …": which objects are not gone yet, since when they
// are being deleted, and what holds each. Its text changes only when something else does,
// so that it is written once.
func describe(pending []remaining) string {
	slices.SortFunc(pending, func(a, b remaining) int { return compareIdentities(identityOf(&a.ref), identityOf(&b.ref)) })
	var texts []string
	for _, each := range pending[:min(len(pending), mostNamed)] {
		texts = append(texts, fmt.Sprintf("%s (%s)", identityOf(&each.ref), each.details()))
	}
	return "these are deleted: " + strings.Join(texts, ", ") + andMore(len(pending)) + "."
}

// andMore returns how many of all are not named.
func andMore(all int) string {
	if all <= mostNamed {
		return ""
	}
	return fmt.Sprintf(" and %d more", all-mostNamed)
}

// details are what is known of the deletion of one object.
func (r *remaining) details() string {
	if r.live.DeletionTimestamp.IsZero() {
		return "another client has created it again"
	}
	text := "deleted at " + r.live.DeletionTimestamp.UTC().Format(time.RFC3339)
	if finalizers := r.live.Finalizers; len(finalizers) > 0 {
		text += "; held by " + strings.Join(finalizers[:min(len(finalizers), mostNamed)], ", ") + andMore(len(finalizers))
	}
	return text
}
