// SPDX-License-Identifier: Apache-2.0

// Package api tests the validation in Trellis' CRDs and policies with an API server.
package api

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/sandbox"
)

var landscape = harness.Own(sandbox.Options{})

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

func setup(t *testing.T, namespace string) (*WithT, client.Client) {
	t.Helper()
	g, c := NewWithT(t), landscape.Seed(t)
	g.Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))).To(Succeed())
	return g, c
}

type networkSpec = extensionsv1alpha1.NetworkSpec

// The CRD rejects the changes that Gardener's webhook rejects in a landscape.
func TestTypeAndRangesOfANetworkAreImmutable(t *testing.T) {
	contract.Shows(t, "C6")
	g, c := setup(t, "networks")
	newer := networkSpec{Type: "calico", PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16"}
	older := newer
	older.PodCIDR, older.ClusterCIDR = "", newer.PodCIDR
	for name, test := range map[string]struct {
		before  networkSpec
		change  func(*networkSpec)
		refused string
	}{
		"type, which the operator judges":      {newer, func(s *networkSpec) { s.Type = "flannel" }, ""},
		"serviceCIDR":                          {newer, func(s *networkSpec) { s.ServiceCIDR = "10.3.0.0/16" }, "serviceCIDR is immutable"},
		"podCIDR":                              {newer, func(s *networkSpec) { s.PodCIDR = "10.3.0.0/16" }, "podCIDR (or clusterCIDR) is immutable"},
		"clusterCIDR":                          {older, func(s *networkSpec) { s.ClusterCIDR = "10.3.0.0/16" }, "podCIDR (or clusterCIDR) is immutable"},
		"podCIDR removed":                      {newer, func(s *networkSpec) { s.PodCIDR = "" }, "podCIDR is required"},
		"podCIDR over clusterCIDR":             {older, func(s *networkSpec) { s.PodCIDR = "10.3.0.0/16" }, "podCIDR (or clusterCIDR) is immutable"},
		"from the older spelling to the newer": {older, func(s *networkSpec) { s.PodCIDR, s.ClusterCIDR = s.ClusterCIDR, "" }, ""},
		"providerConfig":                       {newer, func(s *networkSpec) { s.CloudProvider = "azure" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			n := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{GenerateName: "n-", Namespace: "networks"}, Spec: test.before}
			g.Expect(c.Create(t.Context(), n)).To(Succeed())
			test.change(&n.Spec)
			err := c.Update(t.Context(), n)
			if test.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.refused)))
		})
	}
	g.Expect(c.Create(t.Context(), &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: "networks"},
		Spec:       networkSpec{Type: newer.Type, ServiceCIDR: newer.ServiceCIDR},
	})).To(MatchError(ContainSubstring("podCIDR is required (clusterCIDR is an older spelling of it)")))
}

// A user can add a second family and remove it again. Any other change would need a new
// cluster.
func TestIPFamiliesChangeBetweenOneAndTwo(t *testing.T) {
	contract.Shows(t, "C7")
	_, c := setup(t, "families")
	const refused = "ipFamilies can only change from [IPv4] to [IPv4, IPv6] and back"
	none, four, both, six, swapped := []string(nil), []string{"IPv4"}, []string{"IPv4", "IPv6"}, []string{"IPv6"}, []string{"IPv6", "IPv4"}
	for name, test := range map[string]struct {
		before, after []string
		refused       bool
	}{
		"a second one":              {four, both, false},
		"a second one, by default":  {none, both, false},
		"back to one":               {both, four, false},
		"back to none":              {both, none, false},
		"the default, stated":       {none, four, false},
		"unchanged":                 {six, six, false},
		"another one":               {four, six, true},
		"another one, by default":   {none, six, true},
		"the default for another":   {six, none, true},
		"the other of two":          {both, six, true},
		"a second one of the other": {six, swapped, true},
		"the other way round":       {both, swapped, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			meta := metav1.ObjectMeta{GenerateName: "n-", Namespace: "families"}
			n := &extensionsv1alpha1.Network{ObjectMeta: meta, Spec: networkSpec{
				Type: "calico", PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
				IPFamilies: ipFamilies(test.before),
			}}
			s := &corev1beta1.Shoot{ObjectMeta: meta, Spec: corev1beta1.ShootSpec{
				Provider:   corev1beta1.Provider{Type: "local"},
				Networking: &corev1beta1.Networking{Type: ptr.To("calico"), IPFamilies: test.before},
			}}
			g.Expect(c.Create(t.Context(), n)).To(Succeed())
			g.Expect(c.Create(t.Context(), s)).To(Succeed())
			n.Spec.IPFamilies, s.Spec.Networking.IPFamilies = ipFamilies(test.after), test.after
			for _, err := range []error{c.Update(t.Context(), n), c.Update(t.Context(), s)} {
				if test.refused {
					g.Expect(err).To(MatchError(ContainSubstring(refused)))
				} else {
					g.Expect(err).NotTo(HaveOccurred())
				}
			}
		})
	}
}

func ipFamilies(names []string) []extensionsv1alpha1.IPFamily {
	var families []extensionsv1alpha1.IPFamily
	for _, name := range names {
		families = append(families, extensionsv1alpha1.IPFamily(name))
	}
	return families
}

func TestWhatGardenerMakesImmutableInAShootIsImmutable(t *testing.T) {
	contract.Shows(t, "C13")
	_, c := setup(t, "shoots")
	for name, test := range map[string]struct {
		change  func(*corev1beta1.ShootSpec)
		refused string
	}{
		"network type removed": {func(s *corev1beta1.ShootSpec) { s.Networking.Type = nil }, "type cannot be removed"},
		// The operator refuses it unless an annotation allows it, which the rules of a CRD cannot read.
		"network type":   {func(s *corev1beta1.ShootSpec) { s.Networking.Type = ptr.To("flannel") }, ""},
		"pods":           {func(s *corev1beta1.ShootSpec) { s.Networking.Pods = ptr.To("10.9.0.0/16") }, "pods is immutable once set"},
		"pods removed":   {func(s *corev1beta1.ShootSpec) { s.Networking.Pods = nil }, "pods is immutable once set"},
		"services set":   {func(s *corev1beta1.ShootSpec) { s.Networking.Services = ptr.To("10.9.0.0/16") }, ""},
		"nodes":          {func(s *corev1beta1.ShootSpec) { s.Networking.Nodes = ptr.To("10.9.0.0/16") }, ""},
		"infrastructure": {func(s *corev1beta1.ShootSpec) { s.Provider.Type = "azure" }, "type is immutable"},
		"region":         {func(s *corev1beta1.ShootSpec) { s.Region = "there" }, "region is immutable"},
		"providerConfig": {func(s *corev1beta1.ShootSpec) { s.Networking.ProviderConfig = nil }, ""},
		"node range size": {func(s *corev1beta1.ShootSpec) {
			s.Kubernetes.KubeControllerManager.NodeCIDRMaskSize = ptr.To(int32(25))
		}, "nodeCIDRMaskSize is immutable"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := &corev1beta1.Shoot{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "s-", Namespace: "shoots"},
				Spec: corev1beta1.ShootSpec{
					Region:     "here",
					Provider:   corev1beta1.Provider{Type: "local"},
					Networking: &corev1beta1.Networking{Type: ptr.To("calico"), Pods: ptr.To("10.1.0.0/16")},
					Kubernetes: corev1beta1.Kubernetes{KubeControllerManager: &corev1beta1.KubeControllerManager{NodeCIDRMaskSize: ptr.To(int32(24))}},
				},
			}
			g.Expect(c.Create(t.Context(), s)).To(Succeed())
			test.change(&s.Spec)
			err := c.Update(t.Context(), s)
			if test.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.refused)))
		})
	}
}

// Once a cluster uses the default range, a user cannot set another one, since the cluster
// would not have it. If a spec already has a wrong range, the user can remove it.
func TestOnlyRangesInUseCanBeSetLater(t *testing.T) {
	_, c := setup(t, "shoots")
	const used, other = "100.96.0.0/11", "10.9.0.0/16"
	for name, test := range map[string]struct {
		before *string
		inUse  []string
		after  *string
		valid  bool
	}{
		"any, as long as nothing is in use":       {nil, nil, ptr.To(other), true},
		"the one in use":                          {nil, []string{used}, ptr.To(used), true},
		"one of those in use":                     {nil, []string{"fd00::/64", used}, ptr.To(used), true},
		"another one than is in use":              {nil, []string{used}, ptr.To(other), false},
		"another one in place of the one in use":  {ptr.To(used), []string{used}, ptr.To(other), false},
		"none in place of the one in use":         {ptr.To(used), []string{used}, nil, false},
		"another family's in place of this one's": {ptr.To(used), []string{used, "fd00::/64"}, ptr.To("fd00::/64"), false},
		"a wrong one taken back":                  {ptr.To(other), []string{used}, nil, true},
		"a wrong one set back":                    {ptr.To(other), []string{used}, ptr.To(used), true},
		"a wrong one that becomes another":        {ptr.To(other), []string{used}, ptr.To("10.8.0.0/16"), false},
		"a wrong one beside other changes":        {ptr.To(other), []string{used}, ptr.To(other), true},
	} {
		for _, field := range []string{"pods", "services"} {
			t.Run(field+", "+name, func(t *testing.T) {
				g := NewWithT(t)
				s := &corev1beta1.Shoot{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "s-", Namespace: "shoots"},
					Spec:       corev1beta1.ShootSpec{Provider: corev1beta1.Provider{Type: "local"}},
				}
				setRange(s, field, test.before)
				g.Expect(c.Create(t.Context(), s)).To(Succeed())
				if test.inUse != nil {
					s.Status.Networking = &corev1beta1.NetworkingStatus{Pods: test.inUse, Services: test.inUse}
					g.Expect(c.Status().Update(t.Context(), s)).To(Succeed())
				}
				setRange(s, field, test.after)
				s.Spec.Purpose = ptr.To("testing")
				err := c.Update(t.Context(), s)
				if test.valid {
					g.Expect(err).NotTo(HaveOccurred())
					return
				}
				g.Expect(err).To(MatchError(ContainSubstring("spec.networking." + field)))
			})
		}
	}
}

// setRange sets a range of a Shoot.
func setRange(s *corev1beta1.Shoot, field string, cidr *string) {
	s.Spec.Networking = &corev1beta1.Networking{Type: ptr.To("calico")}
	if field == "pods" {
		s.Spec.Networking.Pods = cidr
	} else {
		s.Spec.Networking.Services = cidr
	}
}

// An API server accepts the examples as they are. Neither the API server nor our types
// drop any field of them.
func TestExamplesSurviveTheAPIServer(t *testing.T) {
	contract.Shows(t, "T1")
	g, c := setup(t, "examples")
	files, err := filepath.Glob("../../examples/*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			content, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			object := &unstructured.Unstructured{}
			g.Expect(yaml.Unmarshal(content, &object.Object)).To(Succeed())
			object.SetNamespace("examples")
			object.SetName(strings.TrimSuffix(filepath.Base(file), ".yaml"))
			wanted := object.DeepCopy()
			g.Expect(c.Create(t.Context(), object, client.FieldValidation(metav1.FieldValidationStrict))).To(Succeed())
			for _, stored := range []any{object.Object["spec"], throughOurTypes(g, c, object)["spec"]} {
				one, err := json.Marshal(wanted.Object["spec"])
				g.Expect(err).NotTo(HaveOccurred())
				two, err := json.Marshal(stored)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(two).To(MatchJSON(one))
			}
		})
	}
}

// throughOurTypes reads an object with our client and writes it as JSON again.
func throughOurTypes(g *WithT, c client.Client, object *unstructured.Unstructured) map[string]any {
	typed, err := seedclient.Scheme().New(object.GroupVersionKind())
	g.Expect(err).NotTo(HaveOccurred())
	read := typed.(client.Object)
	g.Expect(c.Get(context.Background(), client.ObjectKeyFromObject(object), read)).To(Succeed())
	raw, err := json.Marshal(read)
	g.Expect(err).NotTo(HaveOccurred())
	var content map[string]any
	g.Expect(json.Unmarshal(raw, &content)).To(Succeed())
	return content
}
