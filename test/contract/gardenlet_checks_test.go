// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const stamp = "2026-01-01T12:00:05.5Z"

// readyNetwork is one that is ready, with changes.
func readyNetwork(changes ...func(metadata, status map[string]any)) *unstructured.Unstructured {
	metadata := map[string]any{
		"name": "n", "generation": int64(3), "annotations": map[string]any{timestampAnnotation: stamp},
	}
	status := map[string]any{
		"observedGeneration": int64(3),
		"lastOperation":      map[string]any{"type": "Create", "state": "Succeeded", "lastUpdateTime": "2026-01-01T12:00:05Z"},
	}
	for _, change := range changes {
		change(metadata, status)
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": metadata, "status": status}}
}

// Each check by itself, and before those that come later.
func TestTheOrderOfTheChecks(t *testing.T) {
	Shows(t, "C1", "C2", "C3")
	wrong := []struct {
		says   string
		class  severity
		change func(metadata, status map[string]any)
	}{
		{`is "another", not yet`, minorProblem, func(m, _ map[string]any) {
			m["annotations"].(map[string]any)[timestampAnnotation] = "another"
		}},
		{"error during reconciliation: no route", retriableProblem, func(_, s map[string]any) {
			s["lastError"] = map[string]any{"description": "no route", "codes": []any{"ERR_CONFIGURATION_PROBLEM"}}
		}},
		{"observed generation outdated (2/3)", minorProblem, func(_, s map[string]any) { s["observedGeneration"] = int64(2) }},
		{`gardener operation "x" is not yet picked up by controller`, minorProblem, func(m, _ map[string]any) {
			m["annotations"].(map[string]any)[operationAnnotation] = "x"
		}},
		{"extension state is not succeeded but Error", minorProblem, func(_, s map[string]any) {
			s["lastOperation"].(map[string]any)["state"] = "Error"
		}},
		{"before it was asked for", minorProblem, func(_, s map[string]any) {
			s["lastOperation"].(map[string]any)["lastUpdateTime"] = "2026-01-01T12:00:04Z"
		}},
	}
	gardenlet := &gardenlet{timestamp: stamp}
	NewWithT(t).Expect(gardenlet.Ready(readyNetwork())).To(BeNil())
	NewWithT(t).Expect(gardenlet.Ready(readyNetwork(func(_, s map[string]any) { delete(s, "lastOperation") })).Message).
		To(ContainSubstring("no last operation"))
	for i, one := range wrong {
		t.Run(one.says, func(t *testing.T) {
			g := NewWithT(t)
			alone := gardenlet.Ready(readyNetwork(one.change))
			g.Expect(alone.Message).To(ContainSubstring(one.says))
			g.Expect(alone.Class).To(Equal(one.class))
			for _, later := range wrong[i:] {
				g.Expect(gardenlet.Ready(readyNetwork(one.change, later.change))).To(Equal(alone), later.says)
			}
		})
	}
}

// How often a gardenlet looks before it gives up.
func TestPatience(t *testing.T) {
	Shows(t, "C4")
	failed := readyNetwork(func(_, s map[string]any) { s["lastError"] = map[string]any{"description": "no route"} })
	waiting := readyNetwork(func(_, s map[string]any) { s["observedGeneration"] = int64(2) })
	for name, test := range map[string]struct {
		poll  func(poll int) (*unstructured.Unstructured, error)
		polls int
		after time.Duration
	}{
		"ready at once": {func(int) (*unstructured.Unstructured, error) { return readyNetwork(), nil }, 0, 0},
		"an error that passes": {func(poll int) (*unstructured.Unstructured, error) {
			return []*unstructured.Unstructured{failed, readyNetwork()}[poll/7], nil
		}, 0, 0},
		"an error that stays": {func(int) (*unstructured.Unstructured, error) { return failed, nil }, 7, 30 * time.Second},
		"an error that is late": {func(poll int) (*unstructured.Unstructured, error) {
			return []*unstructured.Unstructured{waiting, failed}[poll/20], nil
		}, 20, 95 * time.Second},
		"nothing happens": {func(int) (*unstructured.Unstructured, error) { return waiting, nil }, 37, 3 * time.Minute},
		"it is not there": {func(int) (*unstructured.Unstructured, error) {
			return nil, apierrors.NewNotFound(schema.GroupResource{}, "n")
		}, 37, 3 * time.Minute},
		"the API server is gone": {func(int) (*unstructured.Unstructured, error) { return nil, errors.New("gone") }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			polls := 0
			gardenlet := &gardenlet{timestamp: stamp, Patience: gardenerWaitTimes(func(context.Context) (*unstructured.Unstructured, error) {
				polls++
				return test.poll(polls)
			})}
			err := gardenlet.WaitReady(t.Context())
			if test.polls == 0 {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			gaveUp := &gaveUpError{}
			g.Expect(errors.As(err, &gaveUp)).To(BeTrue())
			g.Expect(gaveUp.Polls).To(Equal(test.polls))
			g.Expect(gaveUp.After).To(Equal(test.after))
		})
	}
}
