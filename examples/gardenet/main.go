// SPDX-License-Identifier: Apache-2.0

// Command gardenet is a network plugin of a third party, with its operator. This file has all
// of it but the agent, in the folder gardenet-agent. docs/write-a-plugin.md explains it.
package main

import (
	"cmp"
	_ "embed"
	"flag"
	"net/netip"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// NetworkConfig is the providerConfig of a Network of type gardenet.
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`

	// GardenetCustomConfigField is a setting of the agents.
	GardenetCustomConfigField string `json:"gardenetCustomConfigField,omitempty"`
	// IPAM selects the addresses of pods.
	IPAM *IPAM `json:"ipam,omitempty"`
}

// IPAM selects the addresses of pods.
type IPAM struct {
	// Type of the IPAM plugin. Only host-local is allowed.
	Type string `json:"type,omitempty"`
	// CIDR is a range, or usePodCIDR for the node's own range.
	CIDR string `json:"cidr,omitempty"`
}

const (
	name       = "gardenet"
	hostLocal  = "host-local"
	usePodCIDR = "usePodCIDR"
)

//go:embed images.yaml
var imagesFile []byte

var images = plugin.ParseImages(imagesFile)

// components are the workloads whose health is the health of the network.
var components = []plugin.Component{{Name: "agents", Kind: "DaemonSet", Workload: name, Namespace: metav1.NamespaceSystem}}

// bundleName is the name of the ManagedResource.
const bundleName = "extension-networking-gardenet-config"

var (
	_ plugin.DataPathDescriber[NetworkConfig] = definition{}
	_ plugin.Exchanger[NetworkConfig]         = definition{}
)

type definition struct{}

func (definition) Describe() plugin.Description {
	return plugin.Description{
		Type:           name,
		ConfigVersions: []schema.GroupVersion{{Group: "gardenet.networking.extensions.gardener.cloud", Version: "v1alpha1"}},
		Origin:         "extension-networking-gardenet",
		IPFamilies:     plugin.IPFamilySupport{IPv4: true},
		Changes:        changes.Possible(),
		Images:         images,
	}
}

func (definition) Validate(written *NetworkConfig, _ *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if ipam := written.IPAM; ipam != nil && ipam.Type != "" && ipam.Type != hostLocal {
		found.Error(field.NotSupported(path.Child("ipam", "type"), ipam.Type, []string{hostLocal}))
	}
	if ipam := written.IPAM; ipam != nil && ipam.CIDR != "" && ipam.CIDR != usePodCIDR {
		if cidr, err := netip.ParsePrefix(ipam.CIDR); err != nil || !cidr.Addr().Is4() || cidr != cidr.Masked() {
			found.Error(field.Invalid(path.Child("ipam", "cidr"), ipam.CIDR, "must be usePodCIDR, or an IPv4 range such as 10.1.0.0/16"))
		}
	}
	return found
}

func (definition) Default(config *NetworkConfig, _ *plugin.Input, _ *plugin.Origins) {
	if config.GardenetCustomConfigField == "" {
		config.GardenetCustomConfigField = "flowers"
	}
	if config.IPAM == nil {
		config.IPAM = &IPAM{}
	}
	config.IPAM.Type, config.IPAM.CIDR = cmp.Or(config.IPAM.Type, hostLocal), cmp.Or(config.IPAM.CIDR, usePodCIDR)
}

func (definition) ValidateEffective(_, _ *NetworkConfig, in *plugin.Input, _ *field.Path) plugin.Findings {
	var found plugin.Findings
	if !in.KubeProxy.Enabled {
		found.Error(field.Forbidden(field.NewPath("spec", "kubernetes", "kubeProxy", "enabled"), "gardenet needs kube-proxy; switch it on"))
	}
	return found
}

// changes has the class of each change of a running network.
var changes = plugin.ChangePolicy[NetworkConfig]{
	"gardenetCustomConfigField": {{Class: plugin.Rolling, Reason: "the agents restart"}},
	"ipam":                      {{Class: plugin.Forbidden, Reason: "running pods would keep addresses without routes"}},
}

func (definition) Classify(change plugin.Change[NetworkConfig]) (plugin.ChangeClass, string) {
	return changes.Classify(change)
}

func (definition) Render(effective *NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	labels := system.SystemApp(name)
	labels[system.CriticalLabel] = "true"
	var env system.Environment
	env.Set("GARDENET_FIELD", effective.GardenetCustomConfigField)
	env.Set("GARDENET_IPAM_CIDR", effective.IPAM.CIDR)
	env.Set("GARDENET_POD_CIDR", in.PodCIDR)
	env.FromField("NODE_NAME", "spec.nodeName")
	agents := &appsv1.DaemonSet{
		TypeMeta:   system.TypeMeta("apps/v1", "DaemonSet"),
		ObjectMeta: system.Named(name, labels),
		Spec: appsv1.DaemonSetSpec{
			Selector:       system.Selecting(system.App(name)),
			UpdateStrategy: system.RollOut(in),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(system.FromGardener(system.MayReachOut(labels))),
				Spec: corev1.PodSpec{
					ServiceAccountName: name, HostNetwork: true, PriorityClassName: system.NodePriority,
					Tolerations: system.TolerateAll(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
					Containers: []corev1.Container{{
						Name: name, Image: images.For(name, in), Env: env, SecurityContext: system.Privileged(),
						Resources:    corev1.ResourceRequirements{Requests: system.Requests("20m", "64Mi")},
						VolumeMounts: []corev1.VolumeMount{{Name: "cni-plugins", MountPath: "/opt/cni/bin"}, {Name: "cni-config", MountPath: "/etc/cni/net.d"}},
					}},
					Volumes: []corev1.Volume{onNode("cni-plugins", "/opt/cni/bin"), onNode("cni-config", "/etc/cni/net.d")},
				},
			},
		},
	}
	return plugin.NewObjects(components, plugin.NetworkBundle(bundleName, []plugin.Object{
		system.ServiceAccount(name), system.ClusterRole(name, system.Rule("", []string{"nodes"}, "list", "watch")),
		system.ClusterRoleBinding(name, system.Account(name)), agents,
	})), nil
}

// onNode is a folder of the node.
func onNode(volume, path string) corev1.Volume {
	kind := corev1.HostPathDirectoryOrCreate
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &kind}}}
}

// DescribeDataPath implements plugin.DataPathDescriber.
func (definition) DescribeDataPath(*NetworkConfig) plugin.DataPath {
	return plugin.DataPath{Packets: "no encapsulation", Router: "the agents, between nodes in one subnet", Lacks: "NetworkPolicies"}
}

// Exchange lets the network take the place of one of another type, and give way to one: pods have addresses of
// their node's range, and the agents make routes to those of all nodes, whatever runs there.
func (definition) Exchange(effective *NetworkConfig, _ *plugin.Input, path *field.Path) plugin.Exchange {
	exchange := plugin.Exchange{Remnants: plugin.Remnants{
		Image: name, Files: []string{"/etc/cni/net.d/10-gardenet.conflist", "/var/lib/cni/networks/gardenet"},
		Interfaces: []string{"gardenet0"}, Tables: []string{"ip gardenet"},
	}}
	if effective.IPAM.CIDR != usePodCIDR {
		exchange.Obstacles = append(exchange.Obstacles, field.Forbidden(path.Child("ipam", "cidr"), "must be usePodCIDR for the type of the network to change; create a new cluster"))
	}
	return exchange
}

func main() {
	fromChart := flag.Bool("chart", false, "render the network's objects with the Helm chart")
	flag.Parse()
	network := plugin.New(definition{})
	if *fromChart {
		network = plugin.New(charted{})
	}
	log := zap.New()
	ctrl.SetLogger(log)
	options := operator.Options{Name: name, Plugins: []plugin.Plugin{network}, Seed: ctrl.GetConfigOrDie(), Log: log}
	if err := operator.Run(ctrl.SetupSignalHandler(), options); err != nil {
		log.Error(err, "The operator has ended")
		os.Exit(1)
	}
}
