// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"slices"
	"strings"
	"time"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

const (
	// mostNamed bounds how many objects a message names, and how many finalizers of each.
	mostNamed = 5
	// mostText bounds each text of others in a message, mostMessage the message.
	mostText    = 256
	mostMessage = 2048
)

// describe completes "Waiting until …": which objects are not gone yet, since when they
// are being deleted, and what holds each. Its text changes only when something else does,
// so that it is written once.
func describe(pending []remaining) string {
	slices.SortFunc(pending, func(a, b remaining) int { return compareIdentities(identityOf(&a.ref), identityOf(&b.ref)) })
	var texts []string
	for _, each := range pending[:min(len(pending), mostNamed)] {
		texts = append(texts, fmt.Sprintf("%s (%s)", identityOf(&each.ref), strings.Join(each.details(), "; ")))
	}
	return "these are deleted: " + strings.Join(texts, ", ") + andMore(len(pending)) + "."
}

// andMore tells how many of all are not named.
func andMore(all int) string {
	if all <= mostNamed {
		return ""
	}
	return fmt.Sprintf(" and %d more", all-mostNamed)
}

func (r *remaining) details() []string {
	if r.live.DeletionTimestamp.IsZero() {
		return []string{"another client has created it again"}
	}
	details := []string{"deleted at " + r.live.DeletionTimestamp.UTC().Format(time.RFC3339)}
	if finalizers := r.live.Finalizers; len(finalizers) > 0 {
		details = append(details, "held by "+strings.Join(finalizers[:min(len(finalizers), mostNamed)], ", ")+andMore(len(finalizers)))
	}
	const annotation = resourcesv1alpha1.FinalizeDeletionAfter
	text, stated := r.live.Annotations[annotation]
	if !stated {
		text, stated = r.ref.Annotations[annotation]
	}
	if _, valid := finalizeAfter(&r.ref, r.live); stated && !valid {
		details = append(details, fmt.Sprintf("its annotation %s is %q, which is no duration such as 5m", annotation, condition.Shorten(text, mostText)))
	}
	return details
}
