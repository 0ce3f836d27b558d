// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/connectivity"
	"github.com/trellis-network/trellis/internal/shootclient"
)

const connectivityHelp = `Show what the probes on the nodes of a shoot reach: pods on other nodes, nodes,
Services, DNS, and the outside, with the latency, for each IP family. With few nodes it
is a matrix. With many, it is the worst nodes, the failing targets, and how latencies
are distributed.

The probes report into NodeConnectivities in the shoot, from which connectivity reads. It
gets access to the shoot
  with --shoot-kubeconfig   from this file. connectivity then needs no seed and no
                            NETWORK. The user needs the right to list
                            nodeconnectivities.connectivity.trellis.network.
  otherwise                 from the Secret "gardener" beside the NETWORK in the seed.
                            The user needs the right to list Networks and to get this
                            Secret, which gives all rights in the shoot.

A probe reports once a minute and when something changes. What a node reported more
than two minutes ago is not shown.

Formats:
  text   for a terminal
  json   all nodes and all targets
  html   one page that needs nothing else: sorted, filtered, with dark colours if the
         browser prefers them

Exit status:
  0  all targets are reached, and all nodes report
  1  a target fails, or a node does not report
  2  the command could not run`

const formatHTML = "html"

// reportsPage is how many reports are read at once.
const reportsPage = 100

// connectivityOptions are the flags of connectivity.
type connectivityOptions struct {
	seed   seedFlags
	shoot  string
	format string
}

func newConnectivity() *cobra.Command {
	var o connectivityOptions
	cmd := &cobra.Command{
		Use:   "connectivity {NETWORK | --shoot-kubeconfig FILE} [flags]",
		Short: "Show which nodes of a shoot reach each other's pods, and how fast",
		Long:  connectivityHelp,
		Example: `  trellis connectivity mine -n shoot--dev--mine
  trellis connectivity --shoot-kubeconfig shoot.kubeconfig
  trellis connectivity mine -n shoot--dev--mine -o html > connectivity.html`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if (o.shoot == "") != (len(args) == 1) {
				return errors.New("requires either NETWORK or --shoot-kubeconfig")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	cmd.Flags().StringVar(&o.shoot, "shoot-kubeconfig", "", "`FILE` with the access to the shoot")
	o.seed.addFlags(cmd, "`NAMESPACE` of the shoot's control plane in the seed")
	addChoice(cmd.Flags(), &o.format, "output", "o", "`FORMAT`: text, json or html", "text", formatJSON, formatHTML)
	for _, ofSeed := range []string{"kubeconfig", "context", "namespace"} {
		cmd.MarkFlagsMutuallyExclusive("shoot-kubeconfig", ofSeed)
	}
	return cmd
}

func (o *connectivityOptions) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	var config *rest.Config
	var name string
	var err error
	if o.shoot != "" {
		config, name, err = ofFile(o.shoot)
	} else {
		config, name, err = o.ofNetwork(ctx, args[0])
	}
	if err != nil {
		return &ioError{err}
	}
	reports, err := nodeConnectivities(ctx, config)
	if err != nil {
		return &ioError{fmt.Errorf("%w (shoot %s)", err, config.Host)}
	}
	report := connectivity.Of(name, reports, time.Now())
	var shown string
	switch o.format {
	case formatHTML:
		var page []byte
		page, err = report.HTML()
		shown = string(page)
	case formatJSON:
		shown, err = encoded(report, formatJSON)
	default:
		shown = report.Text(terminalOf(cmd.OutOrStdout()).width)
	}
	if err != nil {
		return err
	}
	if err := written(io.WriteString(cmd.OutOrStdout(), shown)); err != nil {
		return err
	}
	if report.Fails() {
		return errInvalid
	}
	return nil
}

// ofFile returns the access to a shoot from a kubeconfig, with its name for users.
func ofFile(name string) (*rest.Config, string, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: name}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("load the kubeconfig of the shoot: %w", err)
	}
	return config, config.Host, nil
}

// ofNetwork returns the access to the shoot of a Network, as the operator gets it from outside
// of the seed.
func (o *connectivityOptions) ofNetwork(ctx context.Context, name string) (*rest.Config, string, error) {
	in, err := o.seed.connect("")
	if err != nil {
		return nil, "", err
	}
	found, err := in.named(ctx, name)
	if err != nil {
		return nil, "", fmt.Errorf("%w (seed %s)", err, in.server)
	}
	namespace := found[0].Namespace
	secret := &corev1.Secret{}
	err = in.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shootclient.SecretName}, secret)
	var config *rest.Config
	if err == nil {
		config, err = shootclient.Config(secret.Data[shootclient.SecretKey])
	}
	if err != nil {
		return nil, "", fmt.Errorf("get access to the shoot from the Secret %s/%s; with a kubeconfig of the shoot, pass --shoot-kubeconfig instead: %w (seed %s)",
			namespace, shootclient.SecretName, err, in.server)
	}
	return config, namespace + "/" + name, nil
}

// nodeConnectivities reads the reports of a shoot's probes. The shoot can neither send more than
// a few MiB at once, nor lead the client elsewhere.
func nodeConnectivities(ctx context.Context, config *rest.Config) ([]connectivityv1alpha1.NodeConnectivity, error) {
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NoWarnings{}
	config.DisableCompression = true
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the address of the shoot: %w", err)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return shootclient.Limited(server, next) })
	scheme := runtime.NewScheme()
	if err := connectivityv1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	shoot, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create a client for the shoot: %w", err)
	}
	var all []connectivityv1alpha1.NodeConnectivity
	for next := ""; ; {
		page := &connectivityv1alpha1.NodeConnectivityList{}
		err := shoot.List(ctx, page, client.Limit(reportsPage), client.Continue(next))
		var undiscovered *discovery.ErrGroupDiscoveryFailed
		if meta.IsNoMatchError(err) || errors.As(err, &undiscovered) {
			return nil, errors.New("the shoot does not know NodeConnectivities, so its network has no probes: they may be switched off, need Kubernetes 1.30, or are not applied yet")
		}
		if apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("the user must have the right to list nodeconnectivities.%s: %w", connectivityv1alpha1.GroupVersion.Group, err)
		}
		if err != nil {
			return nil, fmt.Errorf("list the NodeConnectivities: %w", err)
		}
		all = append(all, page.Items...)
		if next = page.Continue; next == "" || len(page.Items) == 0 || len(all) > connectivity.MaxNodes {
			break
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the shoot has no NodeConnectivities: no probe has reported yet")
	}
	return all, nil
}
