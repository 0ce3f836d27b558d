// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/test/harness"
)

// On a landscape's seed that has nothing of Trellis but the chart, each Shoot of Gardener's documents
// gets the network that its gardenlet asks for. test/docs shows them standalone, in clusters.
func TestTheShootsOfTheDocumentsRunOnALandscapesSeedWithTheChartAlone(t *testing.T) {
	seed := landscapeSeed(t)
	o := newInstalled(t, seed, "extension-documents", "mode: gardener", plugins.All())
	access, err := harness.Connect(landscape.Get(t).Shoots[0].Kubeconfig)
	o.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob("../../examples/shoot-*.yaml")
	o.Expect(err).NotTo(HaveOccurred())
	o.Expect(len(files)).To(BeNumerically(">", 10))
	o.start()
	var networks []*extensionsv1alpha1.Network
	for _, file := range files {
		document, err := os.ReadFile(file)
		o.Expect(err).NotTo(HaveOccurred())
		shoot := &corev1beta1.Shoot{}
		o.Expect(yaml.Unmarshal(document, shoot)).To(Succeed(), file)
		networking, controlPlane := shoot.Spec.Networking, "shoot--documents--"+shoot.Name
		networking.Pods, networking.Services = new(ptr.Deref(networking.Pods, "100.96.0.0/11")), new(ptr.Deref(networking.Services, "100.64.0.0/13"))
		o.create(namespaceNamed(controlPlane))
		seed.PutShoot(t, controlPlane, shoot)
		seed.PutAccess(t, controlPlane, access.Kubeconfig)
		network := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{
			Namespace: controlPlane, Name: shoot.Name,
			Annotations: map[string]string{extensionsv1alpha1.OperationAnnotation: extensionsv1alpha1.OperationReconcile},
		}}
		network.Spec.Type, network.Spec.ProviderConfig = *networking.Type, networking.ProviderConfig
		network.Spec.PodCIDR, network.Spec.ServiceCIDR = *networking.Pods, *networking.Services
		o.create(network)
		networks = append(networks, network)
	}
	for _, network := range networks {
		o.isApplied(network)
	}
	for _, network := range networks {
		harness.Change(t, seed, network, func(n *extensionsv1alpha1.Network) {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.ConfirmationAnnotation, "true")
		})
		o.delete(network)
	}
	o.stop()
	o.Expect(o.usage.Refused()).To(BeEmpty())
}
