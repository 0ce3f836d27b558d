// SPDX-License-Identifier: Apache-2.0

// Package request makes the pipeline's Request for a Network of a seed: from the Network,
// its Cluster, and what is written for the shoot already. The operator and the command
// line share it, so that both get the same objects.
package request

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime/debug"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Network is a Network with everything in the seed that its Request is made of.
type Network struct {
	Network *extensionsv1alpha1.Network
	Cluster *extensionsv1alpha1.Cluster
	// Shoot is the one in the Cluster.
	Shoot *corev1beta1.Shoot
	// State is what is kept in the Network's status.
	State *state.State
	// Managed are the ManagedResources of the Network's bundles, by name.
	Managed map[string]*resourcesv1alpha1.ManagedResource
	// Others are the values of NetworkLabel of the other Networks in the namespace. What
	// belongs to them is not the Network's, whatever its name is.
	Others []string
	// Plugin is that of the Network's type; the zero Plugin if there is none.
	Plugin plugin.Plugin
}

// ReadManaged reads the ManagedResources of the Network's bundles into Managed: those with
// the Network's label and, whether they have it or not, those of the bundles that are in the
// state, that the plugin adopts, and whose names are given. Along with an error,
// Managed stays as it was. r may be a cache.
func (n *Network) ReadManaged(ctx context.Context, r client.Reader, names ...string) error {
	list := &resourcesv1alpha1.ManagedResourceList{}
	label := client.MatchingLabels{extensionsv1alpha1.NetworkLabel: extensionsv1alpha1.NetworkLabelValue(n.Network.Name)}
	if err := r.List(ctx, list, client.InNamespace(n.Network.Namespace), label); err != nil {
		return fmt.Errorf("list the ManagedResources of the Network: %w", err)
	}
	next := *n
	next.Managed = make(map[string]*resourcesv1alpha1.ManagedResource, len(list.Items))
	for i := range list.Items {
		next.Managed[list.Items[i].Name] = &list.Items[i]
	}
	for _, name := range append(next.BundleNames(), names...) {
		if next.Managed[name] != nil {
			continue
		}
		mr := &resourcesv1alpha1.ManagedResource{}
		err := r.Get(ctx, client.ObjectKey{Namespace: n.Network.Namespace, Name: name}, mr)
		switch {
		case err == nil:
			next.Managed[name] = mr
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("read the ManagedResource %s: %w", name, err)
		}
	}
	n.Managed = next.Managed
	return nil
}

// BundleNames returns the names of all bundles that the Network has or may have, in
// descending phases: the order in which they are deleted.
func (n *Network) BundleNames() []string {
	names := append(slices.Collect(maps.Keys(n.Managed)), Adopted(&n.Plugin)...)
	if n.State != nil {
		for i := range n.State.Bundles {
			names = append(names, n.State.Bundles[i].Name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		mr := n.Managed[name]
		return mr != nil && slices.Contains(n.Others, mr.Labels[extensionsv1alpha1.NetworkLabel])
	})
	slices.Sort(names)
	names = slices.Compact(names)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(n.Bundle(b).Phase, n.Bundle(a).Phase) })
	return names
}

// Adopted returns the names of the ManagedResources that a plugin adopts from Gardener's extension.
func Adopted(p *plugin.Plugin) []string {
	names := make([]string, len(p.Adopts))
	for i := range p.Adopts {
		names[i] = p.Adopts[i].Name
	}
	return names
}

// Bundle returns how the bundle of that name is treated: as it was written or, where
// Trellis has not written it, as the plugin says of bundles that it adopts. Of any other
// the objects stay where they are when the control plane moves.
func (n *Network) Bundle(name string) state.Bundle {
	if n.State != nil {
		if written, ok := n.State.Bundle(name); ok {
			return written
		}
	}
	for i := range n.Plugin.Adopts {
		if adopted := &n.Plugin.Adopts[i]; adopted.Name == name {
			return state.BundleOf(adopted, "")
		}
	}
	if mr := n.Managed[name]; mr != nil && bundle.TargetOf(mr) == plugin.Seed {
		return state.Bundle{Name: name, Phase: plugin.SeedPhase}
	}
	return state.Bundle{Name: name, Phase: plugin.ExtrasPhase, KeepOnMigrate: true}
}

// awaited are the ManagedResources with the network itself.
func (n *Network) awaited() []*resourcesv1alpha1.ManagedResource {
	var found []*resourcesv1alpha1.ManagedResource
	for _, name := range slices.Sorted(maps.Keys(n.Managed)) {
		if n.Bundle(name).Await {
			found = append(found, n.Managed[name])
		}
	}
	return found
}

// IsPresent reports whether Trellis or another extension has written the network itself.
func (n *Network) IsPresent() bool { return len(n.awaited()) > 0 }

// Present returns the objects of the network itself, as they are written for the shoot.
func (n *Network) Present(ctx context.Context, r client.Reader) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	for _, mr := range n.awaited() {
		some, err := bundle.Read(ctx, r, mr)
		if err != nil {
			return nil, err
		}
		objects = append(objects, some...)
	}
	return objects, nil
}

// Request makes the pipeline's Request. It fails if it cannot read what the network
// keeps of its former extension, because what new networks have must not replace that.
// Along with an error, the Request has what is taken over. r must not be a cache.
func (n *Network) Request(ctx context.Context, r client.Reader, p *pipeline.Pipeline, environment plugin.Environment) (pipeline.Request, error) {
	access, err := n.podAccess()
	environment.PodAccess = access
	request := p.NewRequest(n.Network, n.Shoot, environment)
	request.Applied, request.Present = n.State.Applied, n.written()
	request.Facts.Planned = false // it has a control plane in the seed
	if err == nil {
		err = n.inherit(ctx, r, &request)
	}
	request.TakenOver = n.takenOver(&request)
	return request, err
}

// written returns the config that was written for the shoot last, if that is not the one that is known to be
// applied; nil otherwise.
func (n *Network) written() json.RawMessage {
	switch s := n.State; {
	case s.Transition != nil && s.Transition.Present != nil:
		return s.Transition.Present
	case s.Written != nil && s.Written.Config != nil && s.Written.Config != s.Applied:
		return s.Written.Config.Config
	}
	return nil
}

// podAccess returns how pods reach the API server without the help of others, nil where
// Gardener's webhooks help.
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

// takenOver returns what a network runs for that another extension has made and Trellis
// has not applied yet: what is kept of that, or else the Network as it is, if the other
// extension has reconciled it. What a Network ran for that has changed since is unknown.
func (n *Network) takenOver(request *pipeline.Request) *pipeline.Accepted {
	switch {
	case n.State.Applied != nil:
		return nil
	case n.State.TakenOver != nil:
		return n.State.TakenOver
	case !n.IsPresent(), n.State.Unapplied, !n.Network.HasSucceeded(), n.Network.Status.ObservedGeneration != n.Network.Generation:
		return nil
	}
	return request.Accepted()
}

// inherit completes a Request with what only the objects tell of a network that another
// extension has made. Once Trellis has applied the network, the pipeline finds it in what
// was applied, unless an extension has written the network since.
func (n *Network) inherit(ctx context.Context, r client.Reader, request *pipeline.Request) error {
	if n.Plugin.Methods == nil || !n.Plugin.IsAdopter() || !n.IsPresent() {
		return nil
	}
	rewritten := n.IsRewritten()
	if !rewritten && n.inheritWritten(request) {
		return nil
	}
	present, err := n.Present(ctx, r)
	// No extension has written what is not there, or what no resource manager can apply.
	if lost := apierrors.IsNotFound(err) || errors.As(err, new(*bundle.Malformed)); lost && (rewritten && n.inheritWritten(request) || !n.Plugin.MustInherit()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find out how the present network was made: %w", err)
	}
	return plugin.Guard(n.Plugin.Type, func() error {
		request.Facts.Inherited = n.Plugin.Inherit(present)
		return nil
	})
}

// inheritWritten reports whether Trellis knows what the network keeps: from what was applied, which
// the pipeline reads, or from what was written, which it adds to the Request.
func (n *Network) inheritWritten(request *pipeline.Request) bool {
	if n.State.Applied != nil {
		return true
	}
	written := n.State.Written
	if written == nil || written.Config.Accepted == nil {
		return false
	}
	request.Facts.Inherited = written.Config.Accepted.Facts.Inherited
	return true
}

// IsRewritten reports whether the network itself is not what Trellis has written last: an extension
// has taken it back, or a run that has recorded what it writes has not come to write it.
func (n *Network) IsRewritten() bool {
	return slices.ContainsFunc(n.awaited(), func(mr *resourcesv1alpha1.ManagedResource) bool {
		written, known := n.State.Bundle(mr.Name)
		return known && !bundle.RefersTo(mr, written.Secret)
	})
}

// File is a file with a Request, which the operator dumps and the command line replays.
type File struct {
	// Version is that of the program that wrote the file.
	Version string `json:"trellisVersion,omitempty"`
	pipeline.Request
}

// Encode returns the content of the file with a Request.
func Encode(request *pipeline.Request) ([]byte, error) {
	return json.MarshalIndent(File{Version(), *request}, "", "  ")
}

// version is the tag of the image that the program is in. hack/images has the linker set it.
var version string

// Version returns the version of this program: the tag of its image, or the version of its main module,
// which has the commit in it; "(devel)" if it was built without either.
func Version() string {
	if version != "" {
		return version
	}
	if info, has := debug.ReadBuildInfo(); has && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
