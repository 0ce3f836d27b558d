// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/sandbox"
)

// Shoot is a shoot of a Landscape, as its owner sees it.
type Shoot struct {
	// Cluster is an administrator's client of the shoot's own API server.
	Cluster *harness.Cluster
	// Applied is when Apply was called.
	Applied time.Time

	landscape *Landscape
	of        sandbox.Shoot
}

// Key is the Shoot's name in the garden.
func (s *Shoot) Key() client.ObjectKey {
	return client.ObjectKey{Namespace: s.of.Namespace, Name: s.of.Name}
}

// Apply creates the Shoot, whose name must be Key.
func (s *Shoot) Apply(ctx context.Context, shoot *unstructured.Unstructured) error {
	s.Applied = time.Now()
	if err := s.landscape.Seed.Create(ctx, shoot); err != nil {
		return fmt.Errorf("the API server rejects the Shoot: %w", err)
	}
	return nil
}

// Edit changes the Shoot as its owner does, again if another writer was faster.
func (s *Shoot) Edit(ctx context.Context, edit func(shoot *unstructured.Unstructured)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		shoot := &unstructured.Unstructured{}
		shoot.SetGroupVersionKind(corev1beta1.GroupVersion.WithKind("Shoot"))
		if err := s.landscape.Seed.Get(ctx, s.Key(), shoot); err != nil {
			return err
		}
		edit(shoot)
		return s.landscape.Seed.Update(ctx, shoot)
	})
}

// Current reads the Shoot.
func (s *Shoot) Current(ctx context.Context) (*corev1beta1.Shoot, error) {
	shoot := &corev1beta1.Shoot{}
	return shoot, s.landscape.Seed.Get(ctx, s.Key(), shoot)
}

// Network reads the Shoot's Network. The error is NotFound as long as there is none.
func (s *Shoot) Network(ctx context.Context) (*extensionsv1alpha1.Network, error) {
	network := &extensionsv1alpha1.Network{}
	shoot, err := s.Current(ctx)
	if err != nil {
		return network, err
	}
	if shoot.Status.TechnicalID == "" { // the Shoot is new
		return network, apierrors.NewNotFound(schema.GroupResource{Group: extensionsv1alpha1.GroupVersion.Group, Resource: "networks"}, s.of.Name)
	}
	return network, s.landscape.Seed.Get(ctx, client.ObjectKey{Namespace: shoot.Status.TechnicalID, Name: s.of.Name}, network)
}

// Node returns a real node by its name, or the router.
func (s *Shoot) Node(name string) sandbox.Node { return s.landscape.Node(s.of, name) }

// Kubectl runs the sandbox's kubectl in the shoot, and returns its standard output. The error has
// what it wrote to standard error.
func (s *Shoot) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.landscape.Kubectl, append([]string{"--kubeconfig", s.of.Kubeconfig}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}
