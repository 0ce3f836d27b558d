// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// infrastructures are what is known of those on which Shoots are completed.
var infrastructures = []struct {
	name string
	is   plugin.Infrastructure
}{
	{"an unknown infrastructure", plugin.Infrastructure{}},
	{"an infrastructure that makes routes", plugin.Infrastructure{Type: "example", PodRoutes: true}},
	{"an infrastructure that makes routes and turns overlays off", plugin.Infrastructure{Type: "example", PodRoutes: true, OverlayOff: true}},
	{"an infrastructure whose networks make their routes", plugin.Infrastructure{Type: "example", PodRoutes: true, OverlayOff: true, CreatePodRoutes: true, NoUpstreamDNSSNAT: true}},
	{"an infrastructure without routes", plugin.Infrastructure{Type: "example", NoPodRoutes: true}},
	{"an infrastructure that makes routes and drops IP-in-IP", plugin.Infrastructure{Type: "example", PodRoutes: true, OverlayOff: true, NoIPIP: true}},
}

// undecodable are configs that no plugin can decode.
var undecodable = []string{`"text"`, `["a"]`, `7`}

// shootSpec is the path of all that a ShootDefaulter changes, and configPart the one of the config
// in a spec.
const (
	shootSpec  = "spec"
	configPart = "networking.providerConfig"
)

// shoots: a ShootDefaulter completes new Shoots once, so that they are accepted, and leaves what
// users state and clusters that exist. Other plugins have nothing to state.
func shoots(s *suite, found *report) {
	if !s.plugin.IsShootDefaulter() {
		return
	}
	families := familySets(s.plugin)
	for _, infrastructure := range infrastructures {
		for _, set := range families {
			checkShoots(s, found, cluster{fmt.Sprintf("%v on %s", set, infrastructure.name), set, kubeProxy{}, nil}, infrastructure.is)
		}
	}
	for _, proxy := range kubeProxies {
		checkShoots(s, found, cluster{fmt.Sprintf("%v and %s", families[0], proxy.name), families[0], proxy, nil}, plugin.Infrastructure{})
	}
}

// checkShoots checks Shoots with the configs of all cases. If the kubeProxy has no name, they state
// nothing of kube-proxy.
func checkShoots(s *suite, found *report, in cluster, infrastructure plugin.Infrastructure) {
	var made []*corev1beta1.Shoot
	for _, c := range s.cases {
		found.where = where(c.Config, in)
		shoot := s.shoot(c.Config, in)
		completed := checkCreation(s, found, shoot, infrastructure)
		checkUnchanged(s, found, shoot, infrastructure)
		checkUnchanged(s, found, completed, infrastructure)
		made = append(made, shoot)
	}
	for i, shoot := range made {
		found.where = where(s.cases[i].Config, in)
		checkUpdate(s, found, made[0], shoot, infrastructure)
		checkUpdate(s, found, shoot, made[0], infrastructure)
	}
	for _, config := range undecodable {
		found.where = where(config, in)
		checkLeft(s, found, s.shoot(config, in), infrastructure)
	}
}

// shoot returns a Shoot as users write it, with a field that its type does not have.
func (s *suite) shoot(config string, in cluster) *corev1beta1.Shoot {
	shoot := &corev1beta1.Shoot{}
	_ = json.Unmarshal([]byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","metadata":{"name":"one","namespace":"garden-plugintest"},
		"spec":{"kubernetes":{"version":"1.36.3"},"addons":{"example":{"enabled":true}}}}`), shoot) // which is well-formed
	shoot.Spec.Provider = corev1beta1.Provider{Type: "example", Workers: []corev1beta1.Worker{{Name: "a", Minimum: 3, Maximum: 5}}}
	spec := ranges[in.families[0]]
	if slices.Contains(in.families, ipv4) {
		spec = ranges[ipv4]
	}
	shoot.Spec.Networking = &corev1beta1.Networking{Type: &s.plugin.Type, Pods: &spec.pods, Services: &spec.services, Nodes: &spec.nodes}
	for _, family := range in.families {
		shoot.Spec.Networking.IPFamilies = append(shoot.Spec.Networking.IPFamilies, string(family))
	}
	if config != "" {
		shoot.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
	}
	if in.kubeProxy.name != "" {
		shoot.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: &in.kubeProxy.fact.Enabled, Mode: &in.kubeProxy.fact.Mode}
	}
	return copyOf(shoot)
}

// copyOf shares nothing with the Shoot.
func copyOf(shoot *corev1beta1.Shoot) *corev1beta1.Shoot {
	again := &corev1beta1.Shoot{}
	_ = json.Unmarshal([]byte(textOf(shoot)), again)
	return again
}

// completed returns a copy of the Shoot as DefaultShoot leaves it, and checks what it may change.
func completed(s *suite, found *report, old, shoot *corev1beta1.Shoot, infrastructure plugin.Infrastructure) (*corev1beta1.Shoot, []plugin.Warning) {
	then, now := old, copyOf(shoot)
	if old != nil {
		then = copyOf(old)
	}
	warnings := s.plugin.DefaultShoot(then, now, s.inputFor(now, infrastructure))
	if old != nil && textOf(then) != textOf(old) {
		found.breach("DefaultShoot changes the Shoot before the update")
	}
	before, after := partsOfShoot(shoot), partsOfShoot(now)
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if !strings.HasPrefix(path, shootSpec+".") && before[path] != after[path] {
			found.breach("DefaultShoot changes %s; it may only change the spec", path)
		}
	}
	for _, warning := range warnings {
		if !strings.HasPrefix(warning.Field, shootSpec+".") || warning.Message == "" {
			found.breach("the warning %q of DefaultShoot does not say what is wrong with which field of the Shoot; begin with the path, such as spec.kubernetes.kubeProxy.enabled", warning)
		}
	}
	again := copyOf(now)
	if s.plugin.DefaultShoot(then, again, s.inputFor(again, infrastructure)); textOf(again) != textOf(now) {
		found.breach("DefaultShoot changes its own result; look at what is there before changing it:\n%s\nbecomes\n%s", textOf(now), textOf(again))
	}
	return now, warnings
}

// checkCreation completes a new Shoot.
func checkCreation(s *suite, found *report, shoot *corev1beta1.Shoot, infrastructure plugin.Infrastructure) *corev1beta1.Shoot {
	now, warnings := completed(s, found, nil, shoot, infrastructure)
	before, after := partsOfShoot(shoot), partsOfShoot(now)
	for _, path := range slices.Sorted(maps.Keys(before)) {
		told := slices.ContainsFunc(warnings, func(w plugin.Warning) bool { return w.Field == path })
		if statesNothing := slices.Contains([]string{"null", "{}", `""`}, before[path]); before[path] != after[path] && !told && !statesNothing {
			found.breach("DefaultShoot replaces what a user states, %s: %s, without a warning at this field; leave it, or say why", path, before[path])
		}
	}
	if textOf(now) == textOf(shoot) || len(s.errorsOf(shoot, infrastructure)) > 0 {
		return now
	}
	if errs := s.errorsOf(now, infrastructure); len(errs) > 0 {
		found.breach("a Shoot that is accepted is refused once DefaultShoot has completed it: %v", errs.ToAggregate())
	}
	return now
}

// checkUnchanged updates something of a Shoot that exists which is no network's affair.
func checkUnchanged(s *suite, found *report, shoot *corev1beta1.Shoot, infrastructure plugin.Infrastructure) {
	next := copyOf(shoot)
	next.Spec.Purpose = new("production")
	if now, _ := completed(s, found, shoot, next, infrastructure); textOf(now) != textOf(next) {
		found.breach("DefaultShoot changes a Shoot that exists, in an update that is about something else; its cluster runs without what a new one gets:\n%s\nbecomes\n%s", textOf(next), textOf(now))
	}
}

// checkUpdate updates a Shoot that exists. What its user leaves out may stay as it was, and what the
// user has changed may lead to what a new Shoot gets.
func checkUpdate(s *suite, found *report, old, shoot *corev1beta1.Shoot, infrastructure plugin.Infrastructure) {
	now, _ := completed(s, found, old, shoot, infrastructure)
	created, _ := completed(s, found, nil, shoot, infrastructure)
	then, before, after, fresh := partsOfShoot(old), partsOfShoot(shoot), partsOfShoot(now), partsOfShoot(created)
	for _, path := range slices.Sorted(maps.Keys(after)) {
		isMeta := path == shootSpec+"."+configPart+".apiVersion" || path == shootSpec+"."+configPart+".kind"
		if after[path] != before[path] && after[path] != then[path] && after[path] != fresh[path] && !isMeta {
			found.breach("in an update, DefaultShoot states %s: %s, which neither the user nor the Shoot before the update has, nor a new one gets", path, after[path])
		}
	}
}

// checkLeft finds out whether a config is left that cannot be decoded.
func checkLeft(s *suite, found *report, shoot *corev1beta1.Shoot, infrastructure plugin.Infrastructure) {
	now, _ := completed(s, found, nil, shoot, infrastructure)
	if config := now.Spec.Networking.ProviderConfig; config == nil || string(config.Raw) != string(shoot.Spec.Networking.ProviderConfig.Raw) {
		found.breach("DefaultShoot replaces a config that cannot be decoded; leave it to the validation to refuse it")
	}
}

// errorsOf are what users are told who create the Shoot.
func (s *suite) errorsOf(shoot *corev1beta1.Shoot, infrastructure plugin.Infrastructure) field.ErrorList {
	return s.pipeline.Build(s.requestFor(shoot, infrastructure)).Errors
}

// requestFor is the one of a landscape for the Shoot, which has workers.
func (s *suite) requestFor(shoot *corev1beta1.Shoot, infrastructure plugin.Infrastructure) pipeline.Request {
	network, _ := pipeline.NetworkForShoot(shoot)
	request := s.pipeline.NewRequest(network, shoot, plugin.Environment{})
	request.Author, request.Facts.Infrastructure = pipeline.AuthorShoot, infrastructure
	return request
}

func (s *suite) inputFor(shoot *corev1beta1.Shoot, infrastructure plugin.Infrastructure) *plugin.Input {
	request := s.requestFor(shoot, infrastructure)
	return &plugin.Input{Facts: request.Facts, Environment: request.Environment}
}

// partsOfShoot returns the values of a Shoot by path, those of the config among them, as JSON.
func partsOfShoot(shoot *corev1beta1.Shoot) map[string]string {
	leaves := map[string]string{}
	collect(leaves, "", []byte(textOf(shoot)))
	return leaves
}
