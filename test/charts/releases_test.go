// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
)

const (
	autoscaler   = "autoscaling.k8s.io/v1/VerticalPodAutoscaler"
	scrapeConfig = "monitoring.coreos.com/v1alpha1/ScrapeConfig"
	alertRule    = "monitoring.coreos.com/v1/PrometheusRule"
)

// injected is what a gardenlet gives a chart.
const injected = `
gardener:
  version: 1.141.0
  garden: {clusterIdentity: landscape-one}
  gardenlet: {featureGates: {SomeGate: true}}
  seed:
    name: aws-eu1
    clusterIdentity: aws-eu1-seed
    annotations: {a: b}
    labels: {seed.gardener.cloud/eu-access: "true"}
    provider: aws
    region: eu-west-1
    volumeProvider: ""
    volumeProviders: []
    ingressDomain: ingress.example.org
    protected: false
    visible: true
    taints: []
    networks: {pods: 10.0.0.0/12, services: 10.32.0.0/16, nodes: 10.250.0.0/16, ipFamilies: [IPv4]}
    blockCIDRs: [169.254.169.254/32]
    spec: {backup: null, settings: {excessCapacityReservation: {enabled: false}}}
`

const kubeconfig = `
  kubeconfig: |
    apiVersion: v1
    kind: Config
    clusters: [{name: garden, cluster: {server: https://virtual-garden.example.org}}]
    users: [{name: garden, user: {tokenFile: /var/run/secrets/projected/serviceaccount/token}}]
    contexts: [{name: garden, context: {cluster: garden, user: garden}}]
    current-context: garden
`

// releases are the ways in which users install the charts.
var releases = map[string]release{
	"the operator on a seed": {chart: "trellis-operator", name: "trellis", values: injected},
	"the operator in a self-hosted shoot, with ports of its node": {chart: "trellis-operator", name: "trellis", values: `
gardener: {version: 1.141.0, selfHostedShootCluster: true}
usablePorts: [30080, 30250, 30081]
`},
	"the operator with all that it can adapt": {chart: "trellis-operator", name: "trellis", values: injected + `
image: {repository: mirror.example.org/trellis-operator, digest: "sha256:` + digest + `", pullPolicy: Always}
imagePullSecrets: [mirror, "2026"]
images: {calico-node: "mirror.example.org/calico/node:v3"}
priorityClassName: gardener-system-critical
config:
  webhooks: {networks: true, url: "https://trellis.example.org"}
  controlPlane: {kubeControllerManager: [{provider: local}]}
  featureGates: {}
  controllers: {network: {concurrentSyncs: 20}}
`},
	"the operator standalone": {chart: "trellis-operator", name: "trellis", values: "mode: standalone", has: []string{autoscaler, scrapeConfig, alertRule}},
	"the operator standalone, with infrastructures": {chart: "trellis-operator", name: "trellis", values: `
mode: standalone
replicas: 1
resources: {}
config: {infrastructures: [aws, local], webhooks: {url: "https://trellis.example.org"}}
scrapeConfig: {labels: {release: prometheus}}
`, has: []string{scrapeConfig}},
	"the operator with a name of digits":          {chart: "trellis-operator", name: "2026", values: injected},
	"the admission in the garden":                 {chart: "trellis-admission-runtime", name: "trellis-admission", values: "{}"},
	"the admission with names of digits":          {chart: "trellis-admission-runtime", name: "2026", values: "imagePullSecrets: ['2026']\nglobal: {serviceAccountTokenVolumeProjection: {enabled: true, audience: '2026'}}"},
	"the admission with a projected token":        {chart: "trellis-admission-runtime", name: "trellis-admission", values: "global:\n  serviceAccountTokenVolumeProjection: {enabled: true}" + kubeconfig},
	"the admission of a virtual garden":           {chart: "trellis-admission-runtime", name: "trellis-admission", values: "global:\n  virtualGarden: {enabled: true}" + kubeconfig},
	"the admission of a garden that trusts OIDC":  {chart: "trellis-admission-runtime", name: "trellis-admission", values: "global:\n  virtualGarden: {enabled: true}\n  serviceAccountTokenVolumeProjection: {enabled: true, audience: garden}" + kubeconfig},
	"the admission by Gardener's operator":        {chart: "trellis-admission-runtime", name: "trellis", values: "gardener: {runtimeCluster: {priorityClassName: gardener-garden-system-400}, virtualCluster: {enabled: true, namespace: extension-trellis}}"},
	"the admission standalone":                    {chart: "trellis-admission-runtime", name: "trellis-admission", values: "mode: standalone\nalerts: {labels: {release: prometheus}}", has: []string{autoscaler, scrapeConfig, alertRule}},
	"the admission's rights":                      {chart: "trellis-admission-application", name: "trellis-admission", values: "{}"},
	"the admission's rights in a virtual garden":  {chart: "trellis-admission-application", name: "trellis-admission", values: "global: {virtualGarden: {enabled: true}}"},
	"the admission's rights of a user":            {chart: "trellis-admission-application", name: "trellis-admission", values: "global: {virtualGarden: {enabled: true, user: {name: trellis}}}"},
	"the admission's rights by Gardener operator": {chart: "trellis-admission-application", name: "trellis", values: "gardener: {virtualCluster: {enabled: true, serviceAccount: {name: extension-admission-trellis, namespace: kube-system}}}"},
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// prepare gives the cluster what seeds have beside Kubernetes: kinds and priority classes.
func prepare(t *testing.T, seed *harness.Cluster) {
	t.Helper()
	g := NewWithT(t)
	output, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/autoscaler/vertical-pod-autoscaler").Output()
	g.Expect(err).NotTo(HaveOccurred())
	definitions, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(output)), "deploy", "vpa-v1-crd-gen.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for document := range strings.SplitSeq(string(definitions), "\n---\n") {
		object := &unstructured.Unstructured{}
		g.Expect(yaml.Unmarshal([]byte(document), &object.Object)).To(Succeed())
		g.Expect(client.IgnoreAlreadyExists(seed.Create(t.Context(), object))).To(Succeed())
	}
	// find compares objects of these kinds with the Go type. Here any do.
	fluentbit := schema.GroupVersion{Group: "fluentbit.fluent.io", Version: "v1alpha2"}
	more := map[string]schema.GroupVersion{
		"ScrapeConfig": monitoringv1alpha1.SchemeGroupVersion, "PrometheusRule": monitoringv1.SchemeGroupVersion,
		"ClusterParser": fluentbit, "ClusterFilter": fluentbit,
	}
	for kind, version := range more {
		singular, scope := strings.ToLower(kind), apiextensionsv1.NamespaceScoped
		if strings.HasPrefix(kind, "Cluster") {
			scope = apiextensionsv1.ClusterScoped
		}
		g.Expect(client.IgnoreAlreadyExists(seed.Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + version.Group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: version.Group, Scope: scope,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: singular + "s", Singular: singular, Kind: kind, ListKind: kind + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: version.Version, Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
				}}},
			},
		}))).To(Succeed())
	}
	g.Expect(client.IgnoreAlreadyExists(seed.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden"}}))).To(Succeed())
	for _, name := range []string{"gardener-system-900", "gardener-system-critical", "gardener-garden-system-400"} {
		g.Expect(client.IgnoreAlreadyExists(seed.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 999998900}))).To(Succeed())
	}
	for kind, version := range more {
		g.Eventually(func() error {
			_, err := seed.RESTMapper().RESTMapping(version.WithKind(kind).GroupKind(), version.Version)
			return err
		}).WithTimeout(time.Minute).Should(Succeed())
	}
}

// An API server accepts all objects, and the pods in a namespace with Kubernetes' strictest standard,
// which the ControllerRegistration demands.
func TestAnAPIServerAcceptsTheCharts(t *testing.T) {
	seed := landscape.Seed(t)
	prepare(t, seed)
	for name, release := range releases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "release-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
			g.Expect(seed.Create(t.Context(), restricted)).To(Succeed())
			release.namespace = restricted.Name
			objects := release.render(t)
			g.Expect(objects).NotTo(BeEmpty())
			for _, object := range objects {
				applied := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
				g.Expect(seed.Apply(t.Context(), applied, client.DryRunAll, client.FieldOwner("helm"), client.ForceOwnership)).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
			}
			if release.chart == "trellis-admission-application" {
				return
			}
			deployment := find[appsv1.Deployment](t, objects, "Deployment")
			account := find[corev1.ServiceAccount](t, objects, "ServiceAccount")
			g.Expect(seed.Create(t.Context(), account)).To(Succeed())
			pod := &corev1.Pod{ObjectMeta: *deployment.Spec.Template.ObjectMeta.DeepCopy(), Spec: deployment.Spec.Template.Spec}
			pod.Namespace, pod.Name = restricted.Name, "one"
			g.Expect(seed.Create(t.Context(), pod, client.DryRunAll)).To(Succeed())
			for _, container := range pod.Spec.Containers {
				g.Expect(container.SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()))
			}
		})
	}
}

// The operator starts with the configuration that the chart writes.
func TestTheOperatorReadsTheConfigurationOfTheChart(t *testing.T) {
	for name, release := range releases {
		if release.chart != "trellis-operator" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			release.namespace = "extension-trellis-x7f2k"
			settings := configurationOf(t, release.render(t))
			if settings.Mode == configv1alpha1.ModeGardener {
				g.Expect(settings.Heartbeat.ExtensionName).To(Equal(release.name), "the name of the ControllerRegistration, which gardenlet compares")
				g.Expect(settings.Webhooks.ServiceName).To(Equal("trellis-operator"))
			}
		})
	}
}

func configurationOf(t *testing.T, objects []*unstructured.Unstructured) *configv1alpha1.OperatorConfiguration {
	t.Helper()
	settings, err := configv1alpha1.Load([]byte(find[corev1.ConfigMap](t, objects, "ConfigMap", "trellis-operator").Data["config.yaml"]))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return settings
}

// A Prometheus that runs standalone finds the operator by a ScrapeConfig, that of a seed by the
// annotations of its pods.
func TestAPrometheusFindsTheOperator(t *testing.T) {
	g := NewWithT(t)
	standalone := releases["the operator standalone, with infrastructures"]
	standalone.namespace = "trellis-system"
	scraped := find[monitoringv1alpha1.ScrapeConfig](t, standalone.render(t), "ScrapeConfig")
	g.Expect(scraped.Labels).To(HaveKeyWithValue("release", "prometheus"))
	g.Expect(scraped.Spec.KubernetesSDConfigs[0].Namespaces.Names).To(Equal([]string{"trellis-system"}))
	g.Expect(scraped.Spec.RelabelConfigs).To(ContainElement(And(HaveField("TargetLabel", "job"), HaveField("Replacement", HaveValue(Equal("trellis-operator"))))),
		"alerts and the dashboard select by it")

	onSeed := releases["the operator in a self-hosted shoot, with ports of its node"]
	onSeed.namespace, onSeed.has = "extension-trellis", []string{scrapeConfig}
	objects := onSeed.render(t)
	g.Expect(objects).NotTo(ContainElement(HaveField("Object", HaveKeyWithValue("kind", "ScrapeConfig"))), "it would be scraped twice")
	deployment := find[appsv1.Deployment](t, objects, "Deployment")
	g.Expect(deployment.Spec.Template.Annotations).To(And(HaveKeyWithValue("prometheus.io/name", "trellis-operator"), HaveKeyWithValue("prometheus.io/scrape", "true"), HaveKeyWithValue("prometheus.io/port", "30080")))
	g.Expect(find[corev1.Service](t, objects, "Service").Annotations).To(HaveKeyWithValue(
		"networking.resources.gardener.cloud/from-all-seed-scrape-targets-allowed-ports", `[{"port":30080,"protocol":"TCP"}]`))
}

// Gardener makes the NetworkPolicy between its Prometheus in another namespace and the operator only
// with these, also where there are no webhooks.
func TestASeedsPrometheusReachesAnOperatorWithoutWebhooks(t *testing.T) {
	const prefix = "networking.resources.gardener.cloud/"
	release := release{chart: "trellis-operator", name: "trellis", namespace: "extension-trellis", values: `config: {webhooks: {bindAddress: "0"}}`}
	annotations := find[corev1.Service](t, release.render(t), "Service").Annotations
	NewWithT(t).Expect(annotations).To(And(
		HaveKeyWithValue(prefix+"pod-label-selector-namespace-alias", "extensions"),
		HaveKeyWithValue(prefix+"namespace-selectors", ContainSubstring(`{"kubernetes.io/metadata.name":"garden"}`)),
		Not(HaveKey(prefix+"from-all-webhook-targets-allowed-ports")),
	))
}

// What renders the charts for Gardener does not know the kinds of the cluster, but Gardener has this one.
func TestAVerticalPodAutoscalerIsMadeWhereTheKindIs(t *testing.T) {
	for name, made := range map[string]bool{
		"the operator on a seed":                        true,
		"the operator standalone":                       true,
		"the operator standalone, with infrastructures": false,
		"the admission by Gardener's operator":          true,
		"the admission standalone":                      true,
		"the admission in the garden":                   false,
	} {
		release := releases[name]
		release.namespace = "garden"
		var kinds []string
		for _, object := range release.render(t) {
			kinds = append(kinds, object.GetKind())
		}
		NewWithT(t).Expect(slices.Contains(kinds, "VerticalPodAutoscaler")).To(Equal(made), name)
	}
}

// Releases in other namespaces, such as that of another operator that was made from this chart, do
// not share objects: neither those of the cluster, nor those in the namespace garden.
func TestReleasesInTwoNamespacesShareNoObject(t *testing.T) {
	g := NewWithT(t)
	objectsOf := func(name string) (keys []string) {
		values := injected + "config: {webhooks: {networks: true}, controlPlane: {kubeControllerManager: [{provider: local}]}}"
		for _, object := range (release{chart: "trellis-operator", name: name, namespace: "extension-" + name, values: values}).render(t) {
			keys = append(keys, strings.Join([]string{object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName()}, " "))
		}
		return keys
	}
	ours, theirs := objectsOf("trellis"), objectsOf("gardenet")
	g.Expect(ours).To(HaveLen(len(theirs)))
	for _, key := range ours {
		g.Expect(theirs).NotTo(ContainElement(key))
	}
}
