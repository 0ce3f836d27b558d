// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Types of conditions.
const (
	applied     = "ResourcesApplied"
	healthy     = "ResourcesHealthy"
	progressing = "ResourcesProgressing"
)

// begun writes into the conditions that there is new content. What failed or is
// pending stays to be read.
func (m *resourceManager) begun(mr *unstructured.Unstructured) {
	m.setCondition(mr, healthy, "Unknown", "ChecksPending", "Health checks are pending.")
	m.setCondition(mr, progressing, "Unknown", "ChecksPending", "Checks are pending.")
	reason, message := "ApplyProgressing", "The resources are currently being reconciled."
	for _, condition := range conditionsOf(mr) {
		if condition["type"] != applied {
			continue
		}
		switch condition["reason"] {
		case "ApplyFailed", "DeletionFailed", "DeletionPending":
			reason, message = condition["reason"].(string), condition["message"].(string)
		}
	}
	m.setCondition(mr, applied, "Progressing", reason, message)
}

func conditionsOf(mr *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(mr.Object, "status", "conditions")
	var conditions []map[string]any
	for _, each := range list {
		if condition, ok := each.(map[string]any); ok {
			conditions = append(conditions, condition)
		}
	}
	return conditions
}

// setCondition sets a condition. It has two times: of the last change of its
// status, and of any.
func (m *resourceManager) setCondition(mr *unstructured.Unstructured, conditionType, status, reason, message string) {
	now := m.Clock.Now().UTC().Format(time.RFC3339)
	fresh := map[string]any{
		"type": conditionType, "status": status, "reason": reason, "message": message,
		"lastTransitionTime": now, "lastUpdateTime": now,
	}
	var list []any
	for _, condition := range conditionsOf(mr) {
		if condition["type"] != conditionType {
			list = append(list, condition)
			continue
		}
		if condition["status"] == status {
			fresh["lastTransitionTime"] = condition["lastTransitionTime"]
			if condition["reason"] == reason && condition["message"] == message {
				fresh["lastUpdateTime"] = condition["lastUpdateTime"]
			}
		}
	}
	_ = unstructured.SetNestedSlice(mr.Object, append(list, fresh), "status", "conditions")
}

func inventoryOf(mr *unstructured.Unstructured) []reference {
	read := &struct {
		Status struct {
			Resources []reference `json:"resources"`
		} `json:"status"`
	}{}
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(mr.Object, read)
	return read.Status.Resources
}

func setInventory(mr *unstructured.Unstructured, inventory []reference) {
	list := make([]any, 0, len(inventory))
	for i := range inventory {
		entry, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&inventory[i])
		if err == nil {
			list = append(list, entry)
		}
	}
	_ = unstructured.SetNestedSlice(mr.Object, list, "status", "resources")
}
