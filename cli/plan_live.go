// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// requestTimeout is the time that a seed has to answer a request.
const requestTimeout = 30 * time.Second

// seedFlags are the flags that name a seed, as kubectl has them.
type seedFlags struct{ kubeconfig, context, namespace string }

// addFlags adds the flags. namespace is the usage of the one for the namespace.
func (f *seedFlags) addFlags(cmd *cobra.Command, namespace string) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE` with the access to the seed; the default is kubectl's")
	flags.StringVar(&f.context, "context", "", "`NAME` of the context in the kubeconfig")
	flags.StringVarP(&f.namespace, "namespace", "n", "", namespace)
}

// access is a client for a seed, with the namespace to read.
type access struct {
	client.Reader
	config            *rest.Config
	server, namespace string
}

// connect returns a client. otherwise is the namespace if no flag names one; if it is
// empty too, the kubeconfig's counts.
func (f *seedFlags) connect(otherwise string) (*access, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no kubeconfig of a seed: name one with --kubeconfig, or in $KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("load the kubeconfig of the seed: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the namespace from the kubeconfig: %w", err)
	}
	namespace = cmp.Or(f.namespace, otherwise, namespace)
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NoWarnings{} // they are about writing
	reader, err := client.New(config, client.Options{Scheme: seedclient.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("create a client for the seed %s: %w", config.Host, err)
	}
	return &access{reader, config, config.Host, namespace}, nil
}

// planLive compares the network in a seed with that of a file, or with what this version
// of Trellis makes of it.
func (o *planOptions) planLive(cmd *cobra.Command, p *pipeline.Pipeline, names []string) (*plan, error) {
	var wanted *manifest.Subject
	namespace := ""
	if len(names) > 0 {
		var err error
		if wanted, err = o.readOne(cmd, p, names[0], o.reporter(cmd)); err != nil {
			return nil, err
		}
		if wanted.Author != pipeline.AuthorConfig && wanted.Network.Namespace != metav1.NamespaceDefault {
			namespace = wanted.Network.Namespace
		}
	}
	in, err := o.seed.connect(namespace)
	if err != nil {
		return nil, &ioError{err}
	}
	from, err := in.running(cmd.Context(), p, o.in.environment(), wanted)
	if err != nil {
		return nil, &ioError{fmt.Errorf("%w (seed %s)", err, in.server)}
	}
	if wanted != nil {
		runs := &manifest.Subject{Author: pipeline.AuthorNetwork, Network: from.network, Shoot: from.shoot}
		if differs := mismatchOf(runs, wanted, "namespace "+from.network.Namespace); differs != nil {
			return nil, o.reporter(cmd).refuse(wanted.Source.Label(false, false), differs.Error()+ofOneCluster)
		}
	}
	return from.to(p, wanted)
}

// running reads the running network.
func (in *access) running(ctx context.Context, p *pipeline.Pipeline, environment plugin.Environment, wanted *manifest.Subject) (*running, error) {
	n, err := in.network(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return in.runningAs(ctx, p, environment, n, wanted)
}

// runningAs reads what runs of a Network that was read.
func (in *access) runningAs(ctx context.Context, p *pipeline.Pipeline, environment plugin.Environment,
	n *extensionsv1alpha1.Network, wanted *manifest.Subject,
) (*running, error) {
	known, err := in.known(ctx, p, n)
	if err != nil {
		return nil, err
	}
	from := &running{
		old:     candidate{name: "network " + n.Namespace + "/" + n.Name, warnings: warningsAbout(n)},
		network: n, shoot: known.Shoot, live: true,
		applied:     known.State.Applied,
		rewritten:   known.IsRewritten(),
		environment: environment,
	}
	last := from.applied
	if written := known.State.Written; written != nil {
		last = written.Config
		from.applied = cmp.Or(from.applied, last)
	}
	if last != nil && last.Accepted != nil {
		environment.Webhook = last.Accepted.Webhook // which only the operator knows
	}
	if from.objects, err = in.objects(ctx, known); err != nil {
		return nil, err
	}
	if from.present, err = known.Present(ctx, in); err != nil {
		return nil, err
	}
	runs, err := known.Request(ctx, in, p, environment)
	if err != nil {
		return nil, err
	}
	from.request = func(n *extensionsv1alpha1.Network, shoot *corev1beta1.Shoot) (pipeline.Request, error) {
		next := *known
		next.Network, next.Shoot = n, shoot
		request, err := next.Request(ctx, in, p, environment)
		request.TakenOver = runs.TakenOver // the running network, not the changed one
		return request, err
	}
	if from.foreign = from.applied == nil && known.IsPresent(); !from.foreign {
		return from, nil
	}
	from.old.warnings = append(from.old.warnings, plugin.Warning{
		Field:   "status.state",
		Message: "is empty, since Trellis did not write the present objects; the effect of replacing them is unknown",
	})
	if wanted != nil {
		// So that changes have a class, what Trellis makes of the running network's spec
		// counts as applied.
		deployed(&runs, n)
		if built := p.Build(runs); len(built.Errors) == 0 {
			from.applied = built.Applied()
		}
	}
	return from, nil
}

// network returns the Network in the namespace. If there are several, it returns the one
// with the name of the wanted Network.
func (in *access) network(ctx context.Context, wanted *manifest.Subject) (*extensionsv1alpha1.Network, error) {
	networks, err := in.networks(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range networks {
		if len(networks) == 1 || wanted != nil && networks[i].Name == wanted.Network.Name {
			return &networks[i], nil
		}
		names = append(names, networks[i].Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("namespace %s has no Network; name the namespace of the shoot's control plane with -n", in.namespace)
	}
	return nil, fmt.Errorf("namespace %s has %d Networks (%s); pass as NEW a Network with the name of one of them",
		in.namespace, len(names), listed(names))
}

// networks returns the Networks of shoots in the namespace; in all, if it is empty.
func (in *access) networks(ctx context.Context) ([]extensionsv1alpha1.Network, error) {
	list := &extensionsv1alpha1.NetworkList{}
	err := in.List(ctx, list, client.InNamespace(in.namespace))
	var undiscovered *discovery.ErrGroupDiscoveryFailed
	if meta.IsNoMatchError(err) || errors.As(err, &undiscovered) {
		return nil, fmt.Errorf("the cluster does not know Networks (%s) and is no seed; name a seed with --kubeconfig or --context: %w",
			extensionsv1alpha1.GroupVersion, err)
	}
	where := "in namespace " + in.namespace
	if in.namespace == metav1.NamespaceAll {
		where = "in all namespaces"
	}
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("the user must have the right to list networks.%s %s: %w", extensionsv1alpha1.GroupVersion.Group, where, err)
	}
	if err != nil {
		return nil, fmt.Errorf("list the Networks %s: %w", where, err)
	}
	return slices.DeleteFunc(list.Items, func(n extensionsv1alpha1.Network) bool { return !isOfShoot(&n) }), nil
}

// isOfShoot reports whether Trellis is in charge of a Network.
func isOfShoot(n *extensionsv1alpha1.Network) bool {
	return ptr.Deref(n.Spec.Class, extensionsv1alpha1.ExtensionClassShoot) == extensionsv1alpha1.ExtensionClassShoot
}

// known returns a Network with its Cluster, Shoot, state and ManagedResources.
func (in *access) known(ctx context.Context, p *pipeline.Pipeline, n *extensionsv1alpha1.Network) (*request.Network, error) {
	found := &request.Network{Network: n, Cluster: &extensionsv1alpha1.Cluster{}, Shoot: &corev1beta1.Shoot{}}
	found.Plugin, _ = p.Plugin(n.Spec.Type) // Build reports an unknown type
	if err := in.Get(ctx, client.ObjectKey{Name: n.Namespace}, found.Cluster); err != nil {
		return nil, fmt.Errorf("read the Cluster %s: %w", n.Namespace, err)
	}
	if err := json.Unmarshal(found.Cluster.Spec.Shoot.Raw, found.Shoot); err != nil {
		return nil, fmt.Errorf("decode the Shoot in the Cluster %s: %w", n.Namespace, err)
	}
	var err error
	if found.State, err = state.Decode(n.Status.State); err != nil {
		return nil, fmt.Errorf("decode status.state of the Network %s/%s: %w", n.Namespace, n.Name, err)
	}
	written := found.State.Written
	if !isConfig(found.State.Applied) || written != nil && (written.Config == nil || !isConfig(written.Config)) {
		return nil, fmt.Errorf("status.state of the Network %s/%s has a config that is no object", n.Namespace, n.Name)
	}
	return found, found.ReadManaged(ctx, in)
}

// objects reads the objects in the ManagedResources of the network.
func (in *access) objects(ctx context.Context, known *request.Network) ([]located, error) {
	var all []located
	for _, name := range known.BundleNames() {
		mr := known.Managed[name]
		if mr == nil {
			continue
		}
		objects, err := bundle.Read(ctx, in, mr)
		if err != nil {
			return nil, err
		}
		for i := range objects {
			all = append(all, located{string(bundle.TargetOf(mr)), objects[i].Object})
		}
	}
	return all, nil
}

// warningsAbout returns why the shoot may not have what the Network's state says.
func warningsAbout(n *extensionsv1alpha1.Network) []plugin.Warning {
	var found []plugin.Warning
	if !n.DeletionTimestamp.IsZero() {
		found = append(found, plugin.Warning{Field: "metadata.deletionTimestamp", Message: "is set: the network is being deleted"})
	}
	if last := n.Status.LastOperation; last != nil && last.State != corev1beta1.LastOperationStateSucceeded {
		found = append(found, plugin.Warning{
			Field:   "status.lastOperation",
			Message: fmt.Sprintf("%s is %s: the shoot may not have all objects yet", last.Type, last.State),
		})
	}
	return found
}
