// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// What a probe may write is bounded by the CRD, since a shoot has an object for each node, and
// the operator reads all of them.
func TestTheReportOfANodeIsBounded(t *testing.T) {
	g, seed := setup(t, "connectivity")
	document, err := os.ReadFile("../../pipeline/probe/manifests/connectivity.trellis.network_nodeconnectivities.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.UnmarshalStrict(document, crd)).To(Succeed())
	g.Expect(seed.Create(t.Context(), crd)).To(Succeed())
	scheme := runtime.NewScheme()
	g.Expect(connectivityv1alpha1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(landscape.Seed(t).Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())

	usual := report(6, "shoot--project--name-worker-z1-5b6c9d7f8-x2b4q", "")
	g.Eventually(func() error { return c.Create(t.Context(), usual) }).Should(Succeed())
	g.Expect(size(t, c, usual)).To(BeNumerically("<", 6<<10), "two families, six peers, no failures")
	greatest := report(8, strings.Repeat("n", 253), strings.Repeat("e", 128))
	greatest.Name = "greatest"
	g.Expect(c.Create(t.Context(), greatest)).To(Succeed())
	g.Expect(size(t, c, greatest)).To(BeNumerically("<", 64<<10))

	for what, change := range map[string]func(*connectivityv1alpha1.Report){
		"report.checks[0].results: ":                 func(r *connectivityv1alpha1.Report) { r.Checks[0].Results = make([]connectivityv1alpha1.Result, 9) },
		"report.checks: ":                            func(r *connectivityv1alpha1.Report) { r.Checks = append(r.Checks, r.Checks[0]) },
		"report.checks[0].results[0].error: ":        func(r *connectivityv1alpha1.Report) { r.Checks[0].Results[0].Error = strings.Repeat("e", 129) },
		"report.checks[0].results[0].name: ":         func(r *connectivityv1alpha1.Report) { r.Checks[0].Results[0].Name = strings.Repeat("n", 254) },
		"report.checks[0].results[0].address: ":      func(r *connectivityv1alpha1.Report) { r.Checks[0].Results[0].Address = strings.Repeat("a", 65) },
		"report.probeVersion: ":                      func(r *connectivityv1alpha1.Report) { r.ProbeVersion = strings.Repeat("v", 65) },
		"report.checks[0].type: Unsupported value":   func(r *connectivityv1alpha1.Report) { r.Checks[0].Type = "others" },
		"report.checks[0].family: Unsupported value": func(r *connectivityv1alpha1.Report) { r.Checks[0].Family = "IPv5" },
	} {
		refused := report(8, "n", "")
		refused.Name = "refused"
		change(&refused.Report)
		g.Expect(c.Create(t.Context(), refused)).To(MatchError(ContainSubstring(what)))
	}
}

// report returns a report with all checks of both families, and as many results in each.
func report(results int, name, failure string) *connectivityv1alpha1.NodeConnectivity {
	now := metav1.NewTime(time.Unix(1_800_000_000, 0))
	result := connectivityv1alpha1.Result{
		Name: name, Address: "10.244.123.123:8099", Attempts: 30, LastSuccess: &now, LatencyMicroseconds: 1234,
	}
	if failure != "" {
		result.Address = strings.Repeat("a", 64)
		result.Failures, result.ConsecutiveFailures, result.FailingSince, result.Error = 30, 30, &now, failure
		result.FullSizePackets = ptr.To(false)
	}
	made := &connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: "usual"}}
	made.Report = connectivityv1alpha1.Report{
		Time: now, ProbeVersion: "v1.2.3", Peers: 1000,
		PodInterface: &connectivityv1alpha1.PodInterface{Name: "eth0", MTU: 1450, ProxyARP: ptr.To(true)},
	}
	for _, family := range []connectivityv1alpha1.IPFamily{connectivityv1alpha1.IPv4, connectivityv1alpha1.IPv6} {
		for _, check := range []connectivityv1alpha1.CheckType{
			connectivityv1alpha1.CheckPods, connectivityv1alpha1.CheckNodes, connectivityv1alpha1.CheckServices,
			connectivityv1alpha1.CheckDNS, connectivityv1alpha1.CheckOutside,
		} {
			n := results
			if failure == "" && check != connectivityv1alpha1.CheckPods && check != connectivityv1alpha1.CheckNodes {
				n = 1
			}
			one := connectivityv1alpha1.Check{Family: family, Type: check, Targets: int32(n)}
			for i := range n {
				result.Name = name[:len(name)-1] + fmt.Sprint(i)
				one.Results = append(one.Results, result)
			}
			made.Report.Checks = append(made.Report.Checks, one)
		}
	}
	return made
}

// size returns how long the stored object is as JSON, without managedFields.
func size(t *testing.T, c client.Client, object *connectivityv1alpha1.NodeConnectivity) int {
	t.Helper()
	g := NewWithT(t)
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
	object.ManagedFields = nil
	encoded, err := json.Marshal(object)
	g.Expect(err).NotTo(HaveOccurred())
	return len(encoded)
}
