// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// mostNamed bounds how many objects a message names, and how many finalizers and
	// warnings of each.
	mostNamed = 5
	// mostText bounds each text of others in a message, mostMessage the message.
	mostText    = 256
	mostMessage = 2048
	// mostEvents bounds how many events are searched for the last warnings.
	mostEvents = 500
)

// describe completes "Waiting until …": which objects are not gone yet, since when they
// are being deleted, and what holds each. Its text changes only when something else does,
// so that it is written once.
func describe(ctx context.Context, shoot *shootclient.Shoot, pending []remaining) string {
	slices.SortFunc(pending, func(a, b remaining) int { return compareIdentities(identityOf(&a.ref), identityOf(&b.ref)) })
	var texts []string
	for _, each := range pending[:min(len(pending), mostNamed)] {
		texts = append(texts, fmt.Sprintf("%s (%s)", identityOf(&each.ref), strings.Join(each.details(ctx, shoot), "; ")))
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

func (r *remaining) details(ctx context.Context, shoot *shootclient.Shoot) []string {
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
		details = append(details, fmt.Sprintf("its annotation %s is %q, which is no duration such as 5m", annotation, shortened(text, mostText)))
	}
	if isNamespace(&r.ref) {
		details = append(details, namespaceProblems(ctx, shoot, r.live.Name)...)
	}
	if warnings, err := lastWarnings(ctx, shoot, identityOf(&r.ref)); err == nil && warnings != "" {
		details = append(details, warnings)
	}
	return details
}

// namespaceProblems returns the reasons that the API server gives for why a namespace is
// not gone, and none if it does not answer.
func namespaceProblems(ctx context.Context, shoot *shootclient.Shoot, name string) (problems []string) {
	namespace := &corev1.Namespace{}
	if err := shoot.Client.Get(ctx, types.NamespacedName{Name: name}, namespace); err != nil {
		return nil
	}
	for _, c := range namespace.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			problems = append(problems, strings.TrimSuffix(shortened(c.Message, mostText), "."))
		}
	}
	return problems
}

// lastWarnings returns the last warnings about a Service, as a part of a sentence. Of
// other kinds the status tells enough. Where reading events is forbidden there are none.
func lastWarnings(ctx context.Context, shoot *shootclient.Shoot, id identity) (string, error) {
	if id.Group != "" || id.Kind != "Service" {
		return "", nil
	}
	events, err := shoot.Warnings(ctx, id.Kind, id.NamespacedName, mostEvents)
	if err != nil || len(events) == 0 {
		return "", err
	}
	var texts []string
	for _, event := range events[max(0, len(events)-mostNamed):] {
		texts = append(texts, shortened(event.Reason+": "+event.Message, mostText))
	}
	return "the last warnings about it: " + strings.Join(texts, "; "), nil
}

// shortened cuts a text after a number of bytes, but not within a character.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
