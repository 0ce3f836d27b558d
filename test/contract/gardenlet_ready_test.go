// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// severity is how a gardenlet takes it that a Network is not ready.
type severity string

const (
	// minorProblem is waited for until the timeout.
	minorProblem severity = "minor"
	// retriableProblem is waited for a shorter while: something went wrong, and has codes.
	retriableProblem severity = "retriable with codes"
	// severeProblem ends the wait at once.
	severeProblem severity = "severe"
)

// notReady is why a Network is not ready.
type notReady struct {
	Class   severity
	Message string
	// Codes are those of the Network's lastError.
	Codes []string
}

// Error implements error.
func (n *notReady) Error() string { return n.Message }

func minor(format string, values ...any) *notReady {
	return &notReady{Class: minorProblem, Message: fmt.Sprintf(format, values...)}
}

func severe(err error) *notReady { return &notReady{Class: severeProblem, Message: err.Error()} }

// networkStatus is what a gardenlet reads of a Network's status.
type networkStatus struct {
	ObservedGeneration int64 `json:"observedGeneration"`
	LastError          *struct {
		Description string   `json:"description"`
		Codes       []string `json:"codes"`
	} `json:"lastError"`
	LastOperation *struct {
		Type           string    `json:"type"`
		State          string    `json:"state"`
		LastUpdateTime time.Time `json:"lastUpdateTime"`
	} `json:"lastOperation"`
}

func statusOf(n *unstructured.Unstructured) (networkStatus, error) {
	raw, err := json.Marshal(n.Object["status"])
	if err != nil {
		return networkStatus{}, err
	}
	s := networkStatus{}
	return s, json.Unmarshal(raw, &s)
}

// Ready returns nil if the Network is ready by what the gardenlet has asked for
// last, or the first reason why not. The order of the checks is Gardener's.
func (g *gardenlet) Ready(n *unstructured.Unstructured) *notReady {
	annotations := n.GetAnnotations()
	if timestamp := annotations[timestampAnnotation]; timestamp != g.timestamp {
		return minor("the annotation %s is %q, not yet %q", timestampAnnotation, timestamp, g.timestamp)
	}
	s, err := statusOf(n)
	if err != nil {
		return severe(err)
	}
	if e := s.LastError; e != nil {
		return &notReady{Class: retriableProblem, Message: "error during reconciliation: " + e.Description, Codes: e.Codes}
	}
	if generation := n.GetGeneration(); s.ObservedGeneration != generation {
		return minor("observed generation outdated (%d/%d)", s.ObservedGeneration, generation)
	}
	if operation, there := annotations[operationAnnotation]; there {
		return minor("gardener operation %q is not yet picked up by controller", operation)
	}
	if s.LastOperation == nil {
		return minor("the Network has no last operation yet")
	}
	if state := s.LastOperation.State; state != "Succeeded" {
		return minor("extension state is not succeeded but %s", state)
	}
	asked, err := time.Parse(time.RFC3339Nano, annotations[timestampAnnotation])
	if err != nil {
		return severe(err)
	}
	if updated := s.LastOperation.LastUpdateTime; asked.Truncate(time.Second).After(updated) {
		return minor("the last operation is of %s, before it was asked for at %s", updated.Format(time.RFC3339), g.timestamp)
	}
	return nil
}
