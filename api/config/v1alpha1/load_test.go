// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestLoadGivesDefaultsForAnEmptyDocument(t *testing.T) {
	g := NewWithT(t)
	c, err := Load(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Mode).To(BeEmpty())
	g.Expect(c.Controllers.Network.ConcurrentSyncs).To(Equal(5))
	g.Expect(c.Controllers.Network.ReconciliationTimeout.Duration).To(Equal(3 * time.Minute))
	g.Expect(c.Controllers.Network.IgnoreOperationAnnotation).To(BeFalse())
	g.Expect(c.Controllers.ManagedResource.SyncPeriod.Duration).To(Equal(time.Minute))
	g.Expect(c.Controllers.Health.SyncPeriod.Duration).To(Equal(30 * time.Second))
	g.Expect(c.Controllers.Health.ProgressingThreshold.Duration).To(Equal(5 * time.Minute))
	g.Expect(c.ClientConnection.QPS).To(BeNumerically("==", 100))
	g.Expect(c.Webhooks).To(Equal(Webhooks{BindAddress: ":10250"}))
}

func TestLoadKeepsTheFieldsOfTheFile(t *testing.T) {
	g := NewWithT(t)
	c, err := Load([]byte("controllers: {health: {syncPeriod: 10s, concurrentSyncs: 3, progressingThreshold: 90s}}"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Controllers.Health.SyncPeriod.Duration).To(Equal(10 * time.Second))
	g.Expect(c.Controllers.Health.ConcurrentSyncs).To(Equal(3))
	g.Expect(c.Controllers.Health.ProgressingThreshold.Duration).To(Equal(90 * time.Second))
}

// Without a strategy updates are not paced.
func TestAStrategyOfRolloutsHasDefaults(t *testing.T) {
	g := NewWithT(t)
	c, err := Load([]byte("controllers: {network: {rolloutStrategy: {minSuccessTime: 5m, maxFailures: 0}}}"))
	g.Expect(err).NotTo(HaveOccurred())
	s := c.Controllers.Network.RolloutStrategy
	g.Expect(s.MaxConcurrency.String()).To(Equal("10%"))
	g.Expect(s.MaxFailures.String()).To(Equal("0"))
	g.Expect(s.MinSuccessTime.Duration).To(Equal(5 * time.Minute))
	g.Expect(s.ProgressDeadline.Duration).To(Equal(time.Hour))
	c, err = Load(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Controllers.Network.RolloutStrategy).To(BeNil())
}

func TestLoadNamesTheInvalidField(t *testing.T) {
	for name, test := range map[string]struct{ document, wants string }{
		"unknown field":   {"modus: Gardener", `unknown field "modus"`},
		"unknown mode":    {"mode: gardener", `mode: Unsupported value: "gardener"`},
		"another kind":    {"kind: Deployment", `kind: Unsupported value: "Deployment"`},
		"another version": {"apiVersion: v1", `apiVersion: Unsupported value: "v1"`},
		"bad address":     {"metrics: {bindAddress: here}", `metrics.bindAddress: Invalid value: "here"`},
		"control planes without an address": {
			"controlPlane: {kubeControllerManager: [{provider: one}]}", "controlPlane.kubeControllerManager: Forbidden: the seed's API server calls a webhook"},
		"control planes without a server": {
			"controlPlane: {kubeControllerManager: [{provider: one}]}\nwebhooks: {url: 'https://a', bindAddress: '0'}", "controlPlane.kubeControllerManager: Forbidden"},
		"no Networks at a time":          {"controllers: {network: {rolloutStrategy: {maxConcurrency: 0}}}", "controllers.network.rolloutStrategy.maxConcurrency: Invalid value: \"0\": must be a number from 1 on"},
		"more Networks than there are":   {"controllers: {network: {rolloutStrategy: {maxConcurrency: 101%}}}", `maxConcurrency: Invalid value: "101%"`},
		"no share":                       {"controllers: {network: {rolloutStrategy: {maxFailures: few}}}", `maxFailures: Invalid value: "few"`},
		"fewer failures than none":       {"controllers: {network: {rolloutStrategy: {maxFailures: -1}}}", `maxFailures: Invalid value: "-1"`},
		"no time to succeed":             {"controllers: {network: {rolloutStrategy: {minSuccessTime: 1h}}}", "progressDeadline: Invalid value: \"1h0m0s\": must be longer than minSuccessTime, 1h0m0s"},
		"no label of canaries":           {"controllers: {network: {rolloutStrategy: {canaryLabels: {'a b': c}}}}", `canaryLabels: Invalid value: "a b"`},
		"infrastructures in a landscape": {"{mode: Gardener, infrastructures: [one]}", "infrastructures: Forbidden: in a landscape the gardenlet"},
		"routes without a provider":      {"podRoutes: [{}]", `podRoutes[0].provider: Invalid value: ""`},
		"routes of one provider twice":   {"podRoutes: [{provider: one}, {provider: one}]", `podRoutes[1].provider: Duplicate value: "one"`},
		"less than no route":             {"podRoutes: [{provider: one, maxRoutesPerTable: -1}]", "podRoutes[0].maxRoutesPerTable: Invalid value: -1: must be positive"},
		"infrastructures without names":  {"infrastructures: [one, '']", `infrastructures[1]: Invalid value: ""`},
		"no infrastructure":              {"controlPlane: {kubeControllerManager: [{provider: ''}]}", "controlPlane.kubeControllerManager[0].provider: Required value"},
		"two entries for one infrastructure": {
			"controlPlane: {kubeControllerManager: [{provider: one}, {provider: one}]}", `controlPlane.kubeControllerManager[1].provider: Duplicate value: "one"`},
		"no name of an infrastructure": {
			"controlPlane: {kubeControllerManager: [{provider: One}]}", `controlPlane.kubeControllerManager[0].provider: Invalid value: "One"`},
		"flags in a flag": {
			"controlPlane: {kubeControllerManager: [{provider: one, externalCloudVolumePlugin: 'a --b'}]}", `externalCloudVolumePlugin: Invalid value: "a --b"`},
		"two cloud configs": {
			"controlPlane: {kubeControllerManager: [{provider: one, cloudConfig: a, cloudConfigTemplate: b}]}", "controlPlane.kubeControllerManager[0].cloudConfigTemplate: Forbidden: cloudConfig states the content"},
		"no template": {
			"controlPlane: {kubeControllerManager: [{provider: one, cloudConfigTemplate: '{.status'}]}", `cloudConfigTemplate: Invalid value: "{.status": unclosed action`},
		"negative":        {"controllers: {health: {syncPeriod: -1s}}", "controllers.health.syncPeriod"},
		"no range":        {"shootClientConnection: {allowedAddresses: [127.0.0.1]}", `shootClientConnection.allowedAddresses[0]: Invalid value: "127.0.0.1": must be a range such as 127.0.0.0/8`},
		"no rate":         {"shootClientConnection: {qps: -1}", "shootClientConnection.qps"},
		"no time":         {"controllers: {network: {reconciliationTimeout: -1m}}", `controllers.network.reconciliationTimeout: Invalid value: "-1m0s": must be positive`},
		"no patience":     {"controllers: {health: {progressingThreshold: -1m}}", `controllers.health.progressingThreshold: Invalid value: "-1m0s": must be positive`},
		"no workers":      {"controllers: {shoot: {concurrentSyncs: -1}}", "controllers.shoot.concurrentSyncs"},
		"short lease":     {"leaderElection: {leaseDuration: 10s}", `leaderElection.leaseDuration: Invalid value: "10s": must be longer than renewDeadline, 10s`},
		"short deadline":  {"leaderElection: {renewDeadline: 2s}", "leaderElection.renewDeadline"},
		"fast heartbeat":  {"heartbeat: {renewInterval: 1ms}", "heartbeat.renewInterval"},
		"not YAML":        {"a: [", "cannot be decoded"},
		"no port":         {"webhooks: {bindAddress: here}", `webhooks.bindAddress: Invalid value: "here": must be host:port`},
		"any port":        {`webhooks: {bindAddress: ":0"}`, `webhooks.bindAddress: Invalid value: ":0": must end with a port between 1 and 65535`},
		"a port's name":   {`webhooks: {bindAddress: ":https"}`, "webhooks.bindAddress"},
		"in the clear":    {"webhooks: {url: 'http://trellis.example.com'}", `webhooks.url: Invalid value: "http://trellis.example.com": must be an address such as https://trellis.example.com:10250`},
		"nowhere":         {"webhooks: {url: 'https://:10250'}", "webhooks.url"},
		"with a password": {"webhooks: {url: 'https://me:you@trellis.example.com'}", "webhooks.url"},
		"with a query":    {"webhooks: {url: 'https://trellis.example.com/?a=b'}", "webhooks.url"},
		"unreachable":     {"webhooks: {networks: true}", "webhooks.networks: Forbidden: the seed's API server calls a webhook of the operator for it; set webhooks.serviceName or webhooks.url"},
		"no Service":      {"webhooks: {serviceName: trellis.garden}", `webhooks.serviceName: Invalid value: "trellis.garden"`},
		"no namespace":    {"webhooks: {namespace: The Garden}", `webhooks.namespace: Invalid value: "The Garden"`},
		"no target":       {"connectivityProbe: {outsideTarget: example.com}", `connectivityProbe.outsideTarget: Invalid value: "example.com": must be host:port`},
		"no address of profiles": {
			"{debugging: {enableProfiling: true}, metrics: {bindAddress: '0'}}", "debugging.enableProfiling: Forbidden: profiles are served on metrics.bindAddress"},
		"no Secret": {"webhooks: {secretName: _}", `webhooks.secretName: Invalid value: "_"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := Load([]byte(test.document))
			g.Expect(err).To(MatchError(ContainSubstring(test.wants)))
		})
	}
}

func TestTheExampleOfTheDocumentIsValid(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../../../docs/operator-configuration.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	g.Expect(found).To(BeTrue())
	c, err := Load([]byte(example))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Controllers.ManagedResource.ConcurrentSyncs).To(Equal(40))
}

// The file that Gardener's extension was started with is refused with what to change in it.
func TestConfigurationsOfGardenersExtensionsAreRefusedWithWhatToWrite(t *testing.T) {
	g := NewWithT(t)
	_, err := Load([]byte(`apiVersion: example.networking.extensions.config.gardener.cloud/v1alpha1
kind: ControllerConfiguration
clientConnection: {acceptContentTypes: application/json, contentType: application/json, qps: 100, burst: 130}
featureGates: {ExampleGate: true}
`))
	g.Expect(err).To(MatchError(And(ContainSubstring("configuration of a Gardener extension"), ContainSubstring("kind OperatorConfiguration"))))
	_, err = Load([]byte("clientConnection: {qps: 100, burst: 130}"))
	g.Expect(err).NotTo(HaveOccurred())
}
