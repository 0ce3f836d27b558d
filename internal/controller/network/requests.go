// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// requests makes the pipeline's Requests for Networks.
type requests struct {
	Options
	live  client.Reader
	codes codes
}

// make makes the pipeline's Request for the Network.
func (r *requests) make(ctx context.Context, run *run) (pipeline.Request, error) {
	made, err := run.Request(ctx, r.live, r.Pipeline, plugin.Environment{
		FeatureGates: r.FeatureGates, Images: r.Images, Webhook: r.Webhook(run.Network.Spec.Type), Probe: r.Probe,
	})
	made.Nodes = r.countNodes(ctx, run)
	if err == nil {
		r.dump(ctx, &made)
	}
	return made, err
}

// dump writes a Request into the folder for users who look for the cause of a problem, if there is one.
func (r *requests) dump(ctx context.Context, made *pipeline.Request) {
	if r.DumpRequests == "" {
		return
	}
	content, err := request.Encode(made)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.DumpRequests, made.Namespace+".json"), content, 0o600)
	}
	if err != nil {
		logf.FromContext(ctx).Info("The Request was not dumped", "reason", err.Error())
	}
}

// buildAgain builds what was accepted last, with today's webhook.
func (r *requests) buildAgain(ctx context.Context, run *run, last *pipeline.Applied) (pipeline.Result, error) {
	request, err := r.make(ctx, run)
	if err != nil {
		return pipeline.Result{}, err
	}
	return r.Pipeline.Build(request.Repeat(last)), nil
}

// countNodes returns the number of nodes of a network that runs, as the DaemonSet of its
// agents counts them, from the cache of the shoot. 0 means that it cannot be seen, which
// leaves a roll-out as it is.
func (r *requests) countNodes(ctx context.Context, run *run) int32 {
	if run.State.Applied == nil || run.Shoot.IsHibernated() {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	shoot, err := r.Shoots.For(ctx, run.Network.Namespace)
	if err != nil {
		return 0
	}
	for _, component := range run.State.Components {
		agents := &appsv1.DaemonSet{}
		if component.Kind == "DaemonSet" &&
			shoot.Reader.Get(ctx, client.ObjectKey{Namespace: component.Namespace, Name: component.Workload}, agents) == nil {
			return agents.Status.DesiredNumberScheduled
		}
	}
	return 0
}
