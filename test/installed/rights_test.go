// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"os"
	"path/filepath"
	"sync"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/helm"
)

var pack sync.Once

// chart returns the operator's chart, as make charts packs it.
func (o *installed) chart() []byte {
	o.t.Helper()
	folder := filepath.Join(landscape.Get(o.t).Dir, "charts")
	pack.Do(func() {
		o.Expect(helm.Pack(o.t.Context(), "../..", folder, "v0.0.1")).To(Succeed())
	})
	archive, err := os.ReadFile(filepath.Join(folder, "trellis-operator-0.0.1.tgz"))
	o.Expect(err).NotTo(HaveOccurred())
	return archive
}

// installs gives the seed the identity of a release of the chart with its rights, which replace
// those of the release before, and waits until the API server says that it has them and no others. It
// returns the rights, and the configuration that the chart writes.
func (o *installed) installs(values string) (stated sets.Set[harness.Right], config *configv1alpha1.OperatorConfiguration) {
	o.t.Helper()
	objects, err := helm.Release{Chart: o.chart(), Name: "trellis", Namespace: o.namespace, Values: values}.Render(o.t.Context())
	o.Expect(err).NotTo(HaveOccurred())
	stated = o.seed.InstallIdentity(o.t, objects)
	o.Expect(stated).NotTo(BeEmpty())
	account := "system:serviceaccount:" + o.namespace + ":trellis-operator"
	o.Eventually(func() sets.Set[harness.Right] { return o.seed.Rights(o.t, account, o.namespace) }).Should(Equal(stated), "what the roles state, and no more")
	for _, object := range objects {
		if document, has, _ := unstructured.NestedString(object.Object, "data", "config.yaml"); has {
			config, err = configv1alpha1.Load([]byte(document))
			o.Expect(err).NotTo(HaveOccurred())
		}
	}
	o.Expect(config).NotTo(BeNil())
	return stated, config
}

// hasExactlyItsRights checks that the operator lacked no right, and used each that a release of the
// chart gave it, but for those that others show to be used.
func (o *installed) hasExactlyItsRights(others sets.Set[harness.Right]) {
	o.t.Helper()
	o.Eventually(func() []string { return o.usage.Unused(o.granted.Difference(others)) }).Should(BeEmpty(), "granted and never used")
	o.Expect(o.usage.Refused()).To(BeEmpty())
}

// abandoned creates the webhook configurations that an operator with another configuration has left.
// Nothing serves their webhooks, of which there are none here.
func (o *installed) abandoned() (left []client.Object) {
	for _, name := range []string{"gardener-extension-trellis", "gardener-extension-trellis-networks"} {
		left = append(left, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{shoot.OperatorLabel: operator.DefaultName},
		}})
	}
	o.create(left...)
	return left
}
