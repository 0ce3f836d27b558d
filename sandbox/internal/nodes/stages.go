// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"

	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodeheartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/config"
)

// definitions are kwok's own stages. Nodes become Ready at once and send
// heartbeats. Pods become Ready at once, complete if they belong to a Job, and are
// removed when deleted.
var definitions = []string{
	nodefast.DefaultNodeInit,
	nodeheartbeat.DefaultNodeHeartbeatWithLease,
	podfast.DefaultPodReady,
	podfast.DefaultPodComplete,
	podfast.DefaultPodDelete,
}

func stages() (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	byResource := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, definition := range definitions {
		stage, err := config.UnmarshalWithType[*internalversion.Stage](definition)
		if err != nil {
			return nil, fmt.Errorf("read a stage of kwok: %w", err)
		}
		byResource[stage.Spec.ResourceRef] = append(byResource[stage.Spec.ResourceRef], stage)
	}
	return byResource, nil
}
