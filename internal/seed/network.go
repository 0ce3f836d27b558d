// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"fmt"
	"net"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Network is a Network with all in the seed that tells what becomes of it.
type Network struct {
	Network *extensionsv1alpha1.Network
	Cluster *extensionsv1alpha1.Cluster
	// Shoot is the one in the Cluster.
	Shoot *corev1beta1.Shoot
	// State is what is kept in the Network's status.
	State *state.State
	// Main is the ManagedResource that the plugin names, nil where there is none.
	Main *resourcesv1alpha1.ManagedResource
}

// Request makes the pipeline's Request. It fails closed: what a network inherits
// from whoever made it must not be replaced by what a new network has only because
// it cannot be read. Along with an error, the Request has what is taken over.
func (n *Network) Request(ctx context.Context, r client.Reader, p *pipeline.Pipeline, environment pipeline.Environment) (pipeline.Request, error) {
	access, err := n.podAccess()
	environment.PodAccess = access
	request := p.NewRequest(n.Network, n.Shoot, environment)
	request.Applied = n.State.Applied
	request.Facts.Planned = false // it has a control plane in the seed
	if err == nil {
		err = n.inherit(ctx, r, p, &request)
	}
	request.TakenOver = n.takenOver(&request)
	return request, err
}

// podAccess is how pods reach the API server without anybody's help, nil where somebody
// helps.
func (n *Network) podAccess() (*plugin.PodAccess, error) {
	address := n.Cluster.Annotations[extensionsv1alpha1.APIServerAnnotation]
	if address == "" {
		return nil, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("annotation %s of Cluster %s: %w", extensionsv1alpha1.APIServerAnnotation, n.Cluster.Name, err)
	}
	return &plugin.PodAccess{Host: host, Port: port}, nil
}

// takenOver is what a network runs for that Trellis has not applied yet, and another has
// made: what is kept of that or else the Network as it is, if another has carried that out.
// Of a Network that has changed since nobody can tell what it ran for.
func (n *Network) takenOver(request *pipeline.Request) *pipeline.Accepted {
	status := &n.Network.Status
	switch {
	case n.State.Applied != nil:
		return nil
	case n.State.TakenOver != nil:
		return n.State.TakenOver
	case n.Main == nil, status.LastOperation == nil, status.LastOperation.State != corev1beta1.LastOperationStateSucceeded,
		status.ObservedGeneration != n.Network.Generation:
		return nil
	}
	return request.Accepted()
}

// inherit completes a Request with what can only be learnt from the objects of a
// network that somebody else has made. Once Trellis has applied the network, the
// pipeline finds it in what was applied.
func (n *Network) inherit(ctx context.Context, r client.Reader, p *pipeline.Pipeline, request *pipeline.Request) error {
	definition, known := p.Plugin(n.Network.Spec.Type)
	if !known || !definition.IsAdopter() || n.State.Applied != nil || n.Main == nil {
		return nil
	}
	if written := n.State.Written; written != nil && written.Config.Accepted != nil {
		request.Facts.IPAM = written.Config.Accepted.Facts.IPAM
		return nil
	}
	present, err := bundle.Read(ctx, r, n.Main)
	if err != nil {
		return fmt.Errorf("find out how the network that is there gives pods their addresses: %w", err)
	}
	request.Facts.IPAM = definition.IPAM(present)
	return nil
}
