// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// mostNamed bounds how many objects a message names, and how many finalizers of each.
	mostNamed = 5
	// shortMessage bounds a message in a status that is too large otherwise, in bytes.
	shortMessage = 256
)

// advice tells what to do about an object that is not gone, by the finalizer that holds it;
// the last one is for all other finalizers.
var advice = []struct{ finalizer, text string }{
	{metav1.FinalizerDeleteDependents, " A workload waits for its pods to end: kubectl get pods lists them. Where one does not, repair its node, or delete the Node if the machine is gone; kubectl delete pod --force removes a pod without its node."},
	{apiextensionsv1.CustomResourceCleanupFinalizer, " A CustomResourceDefinition waits for all objects of its kind: kubectl get <its name> -A lists them."},
	{"", " Other finalizers are removed by their controllers once these have cleaned up: if such a controller no longer runs, remove its finalizer with kubectl edit."},
}

// describe completes "Waiting until …": which objects are not gone yet, since when they
// are being deleted, what holds each, and what to do. Its text changes only when something
// else does, so that it is written once.
func describe(pending []remaining) string {
	slices.SortFunc(pending, func(a, b remaining) int { return compareIdentities(identityOf(&a.ref), identityOf(&b.ref)) })
	var texts []string
	needed := make([]bool, len(advice))
	for _, each := range pending[:min(len(pending), mostNamed)] {
		texts = append(texts, fmt.Sprintf("%s (%s)", identityOf(&each.ref), each.details()))
		for _, finalizer := range each.live.Finalizers {
			i := slices.IndexFunc(advice, func(a struct{ finalizer, text string }) bool { return a.finalizer == finalizer || a.finalizer == "" })
			needed[i] = true
		}
	}
	text := "these are deleted: " + strings.Join(texts, ", ") + andMore(len(pending)) + "."
	for i := range advice {
		if needed[i] {
			text += advice[i].text
		}
	}
	return text
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
