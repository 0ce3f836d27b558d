// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// asOperator, in the environment, makes the test's program the operator for a seed;
// the heartbeat is in the namespace.
const (
	asOperator = "TRELLIS_CONTRACT_OPERATOR_KUBECONFIG"
	inPlace    = "TRELLIS_CONTRACT_OPERATOR_NAMESPACE"
)

// runOperator is cmd/trellis-operator as a Gardener landscape installs it: it finds
// out by itself that this is one.
func runOperator() error {
	api, err := clientcmd.BuildConfigFromFlags("", os.Getenv(asOperator))
	if err != nil {
		return err
	}
	config, err := configv1alpha1.Load(fmt.Appendf(nil, `{metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"}, shootClientConnection: {allowedAddresses: [127.0.0.0/8]},
leaderElection: {leaderElect: false}, heartbeat: {namespace: %q, extensionName: networking-trellis}}`, os.Getenv(inPlace)))
	if err != nil {
		return err
	}
	return operator.Run(ctrl.SetupSignalHandler(), operator.Options{
		Plugins: plugins.All(), Providers: providers.All(), Config: config, Seed: api, Log: zap.New(),
	})
}

// theOperator runs Trellis for a control plane as a process of its own, with all plugins.
func theOperator(p *controlPlane, _ *network.Options) {
	p.start = func() {
		file, err := os.Create(filepath.Join(p.t.TempDir(), "operator.log"))
		p.Expect(err).NotTo(HaveOccurred())
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asOperator+"="+p.seed.kubeconfig, inPlace+"="+p.namespace)
		cmd.Stdout, cmd.Stderr = file, file
		p.Expect(cmd.Start()).To(Succeed())
		p.trellis = &process{stop: sync.OnceFunc(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err != nil || p.t.Failed() {
				log, _ := os.ReadFile(file.Name())
				p.t.Errorf("the operator ended with %v:\n%s", err, log[max(0, len(log)-8000):])
			}
		})}
	}
}

// Calico's life, with the operator as it is shipped, in a Gardener landscape. Both
// resource managers have its objects in turn, and its agents are not rolled out again.
func TestCalicoInAGardenerLandscape(t *testing.T) {
	Shows(t, "N1", "N2", "N13", "N32")
	t.Parallel()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace(), theOperator)
	p.observer.trust() // it knows the example network only
	p.gardenlet.Spec["type"] = "calico"
	p.gardenlet.Spec["podCIDR"], p.gardenlet.Spec["serviceCIDR"] = "100.96.0.0/11", "100.64.0.0/13"
	calico := func(overlay bool) {
		p.gardenlet.Spec["providerConfig"] = map[string]any{
			"apiVersion": "calico.networking.extensions.gardener.cloud/v1alpha1", "kind": "NetworkConfig",
			"overlay": map[string]any{"enabled": overlay}, "typha": map[string]any{"enabled": true},
		}
	}
	calico(true)
	p.deploys()
	p.ready()
	p.Expect(len(p.substance())).To(BeNumerically(">", 40))

	before := p.substance()
	p.handOver("Trellis")
	p.isAs(before)
	p.handOver("Gardener")
	p.isAs(before)

	calico(false)
	p.deploys()
	p.ready()
	p.Expect(p.substance()).NotTo(Equal(before))
	calico(true)
	p.deploys()
	p.ready()
	lease := &coordinationv1.Lease{}
	p.Expect(in.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "gardener-extension-heartbeat"}, lease)).To(Succeed())
	p.Expect(lease.Spec.HolderIdentity).To(Equal(ptr.To("networking-trellis")))
	isDeleted(p)
	p.Expect(p.managed()).To(BeEmpty())
}
