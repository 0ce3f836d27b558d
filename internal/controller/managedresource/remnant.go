// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const (
	// mostNamed bounds how many objects a message names, and how many finalizers of
	// each.
	mostNamed = 5
	// mostText bounds each text of others in a message, mostMessage the message.
	mostText    = 256
	mostMessage = 2048
)

// remnant is an object that is being deleted and is not yet gone.
type remnant struct {
	ref  reference
	live *metav1.PartialObjectMetadata
}

// describe says which objects are still there, since when, and what holds each.
// It says the same as long as nothing changes, so that it is written only once.
func (p *pass) describe(ctx context.Context, remaining []*remnant) string {
	slices.SortFunc(remaining, func(a, b *remnant) int {
		x, y := identityOf(&a.ref), identityOf(&b.ref)
		return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	var texts []string
	for _, each := range remaining[:min(len(remaining), mostNamed)] {
		texts = append(texts, fmt.Sprintf("%s (%s)", identityOf(&each.ref), strings.Join(p.details(ctx, each), "; ")))
	}
	message := "Waiting until these are deleted: " + strings.Join(texts, ", ")
	if more := len(remaining) - len(texts); more > 0 {
		message += fmt.Sprintf(" and %d more", more)
	}
	return capped(message + ".")
}

func (p *pass) details(ctx context.Context, r *remnant) []string {
	if r.live.DeletionTimestamp.IsZero() {
		return []string{"somebody has created it anew"}
	}
	details := []string{"deleted at " + r.live.DeletionTimestamp.UTC().Format(time.RFC3339)}
	if finalizers := r.live.Finalizers; len(finalizers) > 0 {
		held := "held by " + strings.Join(finalizers[:min(len(finalizers), mostNamed)], ", ")
		if more := len(finalizers) - mostNamed; more > 0 {
			held += fmt.Sprintf(" and %d more", more)
		}
		details = append(details, held)
	}
	for _, annotations := range []map[string]string{r.live.Annotations, r.ref.Annotations} {
		if text, stated := annotations[resourcesv1alpha1.FinalizeDeletionAfter]; stated {
			if _, valid := patience(&r.ref, r.live); !valid {
				details = append(details, fmt.Sprintf("its annotation %s is %q, which is no duration such as 5m",
					resourcesv1alpha1.FinalizeDeletionAfter, shortened(text, mostText)))
			}
			break
		}
	}
	if isNamespace(&r.ref) {
		details = append(details, p.namespaceProblems(ctx, r.live.Name)...)
	}
	if warnings, err := p.warnings(ctx, identityOf(&r.ref)); err == nil && warnings != "" {
		details = append(details, strings.TrimPrefix(warnings, "; "))
	}
	return details
}

// namespaceProblems are the reasons which the API server gives for why a
// namespace is not gone. It is not worth failing if there is no answer.
func (p *pass) namespaceProblems(ctx context.Context, name string) []string {
	namespace := &corev1.Namespace{}
	if err := p.shoot.Client.Get(ctx, types.NamespacedName{Name: name}, namespace); err != nil {
		return nil
	}
	var problems []string
	for _, c := range namespace.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			problems = append(problems, strings.TrimSuffix(shortened(c.Message, mostText), "."))
		}
	}
	return slices.DeleteFunc(problems, func(text string) bool { return text == "" })
}

// mostListed bounds how many events are looked through for the last ones.
const mostListed = 500

// warnings are the last warnings about a Service, as a further part of a sentence
// or nothing. Of other kinds the status says enough. Not to be allowed to read
// events is no error.
func (p *pass) warnings(ctx context.Context, id identity) (string, error) {
	if id.Group != "" || id.Kind != "Service" {
		return "", nil
	}
	events, err := p.shoot.Warnings(ctx, id.Kind, id.NamespacedName, mostListed)
	if err != nil || len(events) == 0 {
		return "", err
	}
	var texts []string
	for _, event := range events[max(0, len(events)-mostNamed):] {
		texts = append(texts, shortened(event.Reason+": "+event.Message, mostText))
	}
	return "; the last warnings about it: " + strings.Join(texts, "; "), nil
}

// capped bounds a message.
func capped(message string) string { return shortened(message, mostMessage) }

// shortened cuts a text after a number of bytes, but not within a character.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
