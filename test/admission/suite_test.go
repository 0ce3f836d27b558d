// SPDX-License-Identifier: Apache-2.0

// Package admission asks real API servers to create and update Shoots while trellis-admission
// serves its webhooks.
package admission

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/admission"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/sandbox"
)

// The seed is the garden. The API server of the shoot is a cluster apart in which admissions run.
var landscape = harness.Own(sandbox.Options{Shoots: []string{"garden-dev/runtime"}, Users: []string{"admission-user"}, Stderr: io.Discard,
	AuditPolicy: harness.AuditPolicy, Args: []string{"--authentication-config", trusted.trust()}})

func TestMain(m *testing.M) {
	code := landscape.Main(m)
	runtime.Must(trusted.close())
	os.Exit(code)
}

const day = 24 * time.Hour

// calendar is a clock that can be set, and whose minutes are short.
type calendar struct {
	clock.RealClock
	ago atomic.Int64
}

func (c *calendar) set(ago time.Duration)           { c.ago.Store(int64(ago)) }
func (c *calendar) Now() time.Time                  { return time.Now().Add(-time.Duration(c.ago.Load())) }
func (c *calendar) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *calendar) NewTicker(time.Duration) clock.Ticker {
	return c.RealClock.NewTicker(100 * time.Millisecond)
}
func (c *calendar) NewTimer(time.Duration) clock.Timer {
	return c.RealClock.NewTimer(100 * time.Millisecond)
}

// garden is the cluster with the Shoots, for one test at a time, since all Shoots are asked about.
type garden struct {
	*WithT
	t *testing.T
	*harness.Cluster
	namespace string
	clock     *calendar
}

var alone sync.Mutex

func setup(t *testing.T) *garden {
	t.Helper()
	alone.Lock()
	t.Cleanup(alone.Unlock)
	c := landscape.Seed(t)
	return &garden{WithT: NewWithT(t), t: t, Cluster: c, namespace: c.Namespace(t, "garden-"), clock: &calendar{}}
}

// freeAddress returns a host:port of this machine on which nothing listens.
func (g *garden) freeAddress() string {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer free.Close()
	return free.Addr().String()
}

// admits starts an admission for this garden, and waits until it is asked.
func (g *garden) admits(change ...func(*admission.Options)) (stop func()) {
	g.t.Helper()
	options := g.options(g.freeAddress())
	for _, c := range change {
		c(&options)
	}
	stop = g.start(options)
	g.isAsked()
	if !options.Standalone {
		g.isAskedForDefaults()
	}
	return stop
}

func (g *garden) options(address string) admission.Options {
	return admission.Options{
		Plugins: plugins.All(), Providers: providers.All(), Garden: g.Config, Namespace: g.namespace,
		URL: "https://" + address, BindAddress: address, MetricsBindAddress: "0", HealthProbeBindAddress: "0",
		Clock: g.clock,
	}
}

// start runs an admission until stop is called, or the test ends. The webhook configurations go
// with the test.
func (g *garden) start(options admission.Options) (stop func()) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- admission.Run(ctx, options) }()
	g.t.Cleanup(func() {
		for _, config := range configurations() {
			if err := client.IgnoreNotFound(g.Delete(context.Background(), config)); err != nil {
				g.t.Error(err)
			}
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			g.t.Errorf("the admission ended with %v", err)
		}
	})
	g.t.Cleanup(stop)
	return stop
}

func configurations() []client.Object {
	meta := metav1.ObjectMeta{Name: admission.DefaultName}
	return []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta},
	}
}

// isAsked waits until the API server asks the webhooks: it learns of them after a moment.
func (g *garden) isAsked() {
	g.t.Helper()
	g.Eventually(func() error {
		return g.Create(g.t.Context(), g.shoot("asked", "{networking: {type: flannel, providerConfig: {unknown: 1}}}"), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("spec.networking.providerConfig.unknown")))
}

// isAskedForDefaults waits until the API server asks what is stated in Shoots.
func (g *garden) isAskedForDefaults() {
	g.t.Helper()
	g.Eventually(func() bool {
		shoot := g.shoot("asked", "{networking: {type: cilium}}")
		if g.Create(g.t.Context(), shoot, client.DryRunAll) != nil {
			return false
		}
		_, stated, _ := unstructured.NestedBool(shoot.Object, "spec", "kubernetes", "kubeProxy", "enabled")
		return stated
	}).Should(BeTrue())
}

// shoot returns a Shoot that is fine but for its spec, YAML which is merged into the one of every
// Shoot here.
func (g *garden) shoot(name, spec string) *unstructured.Unstructured {
	g.t.Helper()
	shoot := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
		"metadata": map[string]any{"name": name, "namespace": g.namespace},
		"spec": map[string]any{
			"provider":   map[string]any{"type": "local", "workers": []any{map[string]any{"name": "a", "minimum": int64(1), "maximum": int64(3)}}},
			"kubernetes": map[string]any{"version": "1.36.3"},
			"networking": map[string]any{"pods": "100.96.0.0/11", "services": "100.64.0.0/13", "nodes": "10.250.0.0/16"},
			"addons":     map[string]any{"dashboard": map[string]any{"enabled": true}},
		},
	}}
	g.merge(shoot, spec)
	return shoot
}

// merge merges YAML into the spec of a Shoot. A null removes a field. The label is that of Gardener's
// API server.
func (g *garden) merge(shoot *unstructured.Unstructured, spec string) {
	g.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(spec))
	g.Expect(err).NotTo(HaveOccurred())
	var change map[string]any
	g.Expect(utiljson.Unmarshal(raw, &change)).To(Succeed())
	shoot.Object["spec"] = merged(shoot.Object["spec"], change)
	if networkType, _, _ := unstructured.NestedString(shoot.Object, "spec", "networking", "type"); networkType != "" {
		shoot.SetLabels(map[string]string{"networking.extensions.gardener.cloud/" + networkType: "true"})
	}
}

// merged merges a change into a value as a merge patch does.
func merged(value any, change any) any {
	fields, isObject := change.(map[string]any)
	if !isObject {
		return change
	}
	result, isObject := value.(map[string]any)
	if !isObject {
		result = map[string]any{}
	}
	for name, each := range fields {
		if each == nil {
			delete(result, name)
		} else {
			result[name] = merged(result[name], each)
		}
	}
	return result
}

// kubeconfig writes a kubeconfig for the server of a cluster with one user.
func kubeconfig(t *testing.T, config *rest.Config, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: garden, cluster: {server: %q, certificate-authority-data: %s}}]
contexts: [{name: garden, context: {cluster: garden, user: garden}}]
current-context: garden
users: [{name: garden, user: %s}]
`, config.Host, base64.StdEncoding.EncodeToString(config.CAData), user)
	NewWithT(t).Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
	return file
}

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
