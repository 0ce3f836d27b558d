// SPDX-License-Identifier: Apache-2.0

package pairwise

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// scenario describes a Shoot.
type scenario struct {
	network      string // its type
	config       map[string]any
	families     []string
	migrating    bool
	kubeProxy    corev1beta1.KubeProxy
	nodes        int
	vpa          bool
	nodeLocalDNS bool
	nodesAtMost  int32
	standalone   bool
	provider     string
	gates        map[string]bool
}

// Where the Shoot has the nodes' ranges. 0 means nowhere.
const (
	nodesInSpec = iota + 1
	nodesInStatus
)

// The ranges of pods, Services and nodes, by family.
var ranges = map[string][3]string{
	"IPv4": {"100.64.0.0/12", "100.96.0.0/13", "10.250.0.0/16"},
	"IPv6": {"2001:db8:1::/56", "2001:db8:2::/112", "2001:db8:3::/64"},
}

// scenarioOf applies the values of a row in order. A later value can override an earlier one.
func scenarioOf(network string, options []option, row Row) *scenario {
	s := &scenario{network: network, config: map[string]any{}, gates: map[string]bool{}, nodesAtMost: 3}
	for d, v := range row {
		options[d].apply[v](s)
	}
	return s
}

// build runs the scenario through the pipeline, as for a Shoot.
func (s *scenario) build(p *pipeline.Pipeline) (pipeline.Result, error) {
	request, err := s.request(p)
	if err != nil {
		return pipeline.Result{}, err
	}
	return p.Build(request), nil
}

func (s *scenario) request(p *pipeline.Pipeline) (request pipeline.Request, err error) {
	shoot, err := s.shoot()
	if err != nil {
		return request, err
	}
	network, err := pipeline.NetworkForShoot(shoot)
	if err != nil {
		return request, err
	}
	environment := plugin.Environment{FeatureGates: s.gates}
	if s.standalone {
		environment.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"}
	}
	return p.NewRequest(network, shoot, environment), nil
}

func (s *scenario) shoot() (*corev1beta1.Shoot, error) {
	raw, err := json.Marshal(s.config)
	if err != nil {
		return nil, err
	}
	shoot := &corev1beta1.Shoot{}
	shoot.Name, shoot.Namespace = "one", "garden-dev"
	shoot.Status.TechnicalID = controlPlane
	shoot.Status.AdvertisedAddresses = []corev1beta1.AdvertisedAddress{{Name: "external", URL: "https://api.example.com"}}
	shoot.Spec.Provider = corev1beta1.Provider{Type: s.provider, Workers: []corev1beta1.Worker{{Maximum: s.nodesAtMost}}}
	shoot.Spec.Kubernetes.Version = "1.36.3"
	shoot.Spec.Kubernetes.KubeProxy = &s.kubeProxy
	shoot.Spec.Kubernetes.VerticalPodAutoscaler = &corev1beta1.VerticalPodAutoscaler{Enabled: s.vpa}
	shoot.Spec.SystemComponents = &corev1beta1.SystemComponents{NodeLocalDNS: &corev1beta1.NodeLocalDNS{Enabled: s.nodeLocalDNS}}
	shoot.Spec.Networking = &corev1beta1.Networking{
		Type: &s.network, IPFamilies: s.families, ProviderConfig: &runtime.RawExtension{Raw: raw},
	}
	shoot.Status.Networking = s.networkingStatus()
	if s.nodes != 0 && slices.Contains(s.families, "IPv4") {
		shoot.Spec.Networking.Nodes = new(ranges["IPv4"][2])
	}
	if s.migrating {
		shoot.Status.Constraints = []corev1beta1.Condition{{Type: "DualStackNodesMigrationReady", Status: corev1beta1.ConditionFalse}}
	}
	return shoot, nil
}

func (s *scenario) networkingStatus() *corev1beta1.NetworkingStatus {
	status := &corev1beta1.NetworkingStatus{}
	for _, family := range s.families {
		status.Pods = append(status.Pods, ranges[family][0])
		status.Services = append(status.Services, ranges[family][1])
		if s.nodes == nodesInStatus {
			status.Nodes = append(status.Nodes, ranges[family][2])
		}
	}
	return status
}

// names returns the values of a row that are not the defaults.
func names(dimensions []Dimension, row Row) string {
	var list []string
	for d, v := range row {
		if v != 0 {
			list = append(list, dimensions[d].Name+": "+dimensions[d].Values[v])
		}
	}
	return strings.Join(list, ", ")
}
