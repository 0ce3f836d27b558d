// SPDX-License-Identifier: Apache-2.0

package gardenlet

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Class is how a gardenlet takes it that a Network is not ready.
type Class string

const (
	// Minor is waited for until the timeout.
	Minor Class = "minor"
	// Retriable is waited for a shorter while: something went wrong, and has codes.
	Retriable Class = "retriable with codes"
	// Severe ends the wait at once.
	Severe Class = "severe"
)

// NotReady is why a Network is not ready.
type NotReady struct {
	Class   Class
	Message string
	// Codes are those of the Network's lastError.
	Codes []string
}

// Error implements error.
func (n *NotReady) Error() string { return n.Message }

func minor(format string, values ...any) *NotReady {
	return &NotReady{Class: Minor, Message: fmt.Sprintf(format, values...)}
}

func severe(err error) *NotReady { return &NotReady{Class: Severe, Message: err.Error()} }

// status is what a gardenlet reads of a Network's status.
type status struct {
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

func statusOf(n *unstructured.Unstructured) (status, error) {
	raw, err := json.Marshal(n.Object["status"])
	if err != nil {
		return status{}, err
	}
	s := status{}
	return s, json.Unmarshal(raw, &s)
}

// Ready returns nil if the Network is ready by what the gardenlet has asked for
// last, or the first reason why not. The order of the checks is Gardener's.
func (g *Gardenlet) Ready(n *unstructured.Unstructured) *NotReady {
	annotations := n.GetAnnotations()
	if timestamp := annotations[timestampAnnotation]; timestamp != g.timestamp {
		return minor("the annotation %s is %q, not yet %q", timestampAnnotation, timestamp, g.timestamp)
	}
	s, err := statusOf(n)
	if err != nil {
		return severe(err)
	}
	if e := s.LastError; e != nil {
		return &NotReady{Class: Retriable, Message: "error during reconciliation: " + e.Description, Codes: e.Codes}
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
