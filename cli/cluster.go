// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/pipeline"
)

// clusterFlags describe the cluster that a NetworkConfig which stands alone is for.
type clusterFlags struct {
	names                 []string // of the flags
	provider, version     string
	pods, services, nodes string
	families              []string
	kubeProxy             bool
	kubeProxyMode         string
	nodeLocalDNS, vpa     bool
	maxNodes              int32
}

// inFlags replaces the fields of the Shoot that clusterFlags make with the flags that set them.
var inFlags = strings.NewReplacer(
	"spec.networking.ipFamilies", "--ip-families",
	"spec.networking.pods", "--pods",
	"spec.networking.services", "--services",
	"spec.networking.nodes", "--nodes",
	"spec.provider.type", "--provider",
	"spec.provider.workers[0].maximum", "--max-nodes",
	"spec.kubernetes.version", "--kubernetes-version",
	"spec.kubernetes.kubeProxy.enabled", "--kube-proxy",
	"spec.kubernetes.kubeProxy.mode", "--kube-proxy-mode",
	"spec.kubernetes.verticalPodAutoscaler.enabled", "--vertical-pod-autoscaler",
	"spec.systemComponents.nodeLocalDNS.enabled", "--node-local-dns",
)

func (c *clusterFlags) addFlags(flags *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.StringVar(&c.provider, "provider", "", "`TYPE` of the infrastructure (Shoot.spec.provider.type) of a bare NetworkConfig")
	addFlag(own, "kubernetes-version", "", "", "`VERSION` of Kubernetes for a bare NetworkConfig", func(value string) error {
		if _, err := utilversion.ParseGeneric(value); err != nil {
			return errors.New("must be a version such as 1.36.3")
		}
		c.version = strings.TrimPrefix(value, "v")
		return nil
	})
	own.BoolVar(&c.kubeProxy, "kube-proxy", true, "kube-proxy runs in the cluster of a bare NetworkConfig")
	own.StringVar(&c.kubeProxyMode, "kube-proxy-mode", "", "`MODE` of kube-proxy for a bare NetworkConfig: IPTables, IPVS or NFTables")
	own.StringSliceVar(&c.families, "ip-families", nil, "`FAMILIES` of a bare NetworkConfig, the primary one first: IPv4,IPv6 (default IPv4)")
	own.StringVar(&c.pods, "pods", "", "`RANGE` of the pods of a bare NetworkConfig (default "+pipeline.DefaultPodCIDR+" for IPv4)")
	own.StringVar(&c.services, "services", "", "`RANGE` of the Services of a bare NetworkConfig (default "+pipeline.DefaultServiceCIDR+" for IPv4)")
	own.StringVar(&c.nodes, "nodes", "", "`RANGE` of the nodes of a bare NetworkConfig")
	own.BoolVar(&c.nodeLocalDNS, "node-local-dns", false, "the nodes of a bare NetworkConfig have a DNS cache")
	own.BoolVar(&c.vpa, "vertical-pod-autoscaler", false, "the cluster of a bare NetworkConfig has the vertical pod autoscaler")
	addFlag(own, "max-nodes", "", "0", "`NUMBER` of nodes that a bare NetworkConfig's cluster can grow to; 0 if unknown", func(value string) error {
		number, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return fmt.Errorf("must be a whole number from 0 to %d", math.MaxInt32)
		}
		c.maxNodes = int32(number)
		return nil
	})
	own.VisitAll(func(flag *pflag.Flag) { c.names = append(c.names, flag.Name) })
	flags.AddFlagSet(own)
}

// shoot returns the Shoot that the flags describe, without a network type.
func (c *clusterFlags) shoot() *corev1beta1.Shoot {
	shoot := &corev1beta1.Shoot{}
	shoot.Name = "networkconfig"
	shoot.Spec.Provider = corev1beta1.Provider{Type: c.provider, Workers: []corev1beta1.Worker{{Name: "worker", Maximum: c.maxNodes}}}
	shoot.Spec.Kubernetes.Version = c.version
	shoot.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: &c.kubeProxy}
	if c.kubeProxyMode != "" {
		shoot.Spec.Kubernetes.KubeProxy.Mode = new(corev1beta1.ProxyMode(c.kubeProxyMode))
	}
	shoot.Spec.Kubernetes.VerticalPodAutoscaler = &corev1beta1.VerticalPodAutoscaler{Enabled: c.vpa}
	shoot.Spec.SystemComponents = &corev1beta1.SystemComponents{NodeLocalDNS: &corev1beta1.NodeLocalDNS{Enabled: c.nodeLocalDNS}}
	shoot.Spec.Networking = &corev1beta1.Networking{IPFamilies: c.families}
	for _, each := range []struct {
		value string
		field **string
	}{{c.pods, &shoot.Spec.Networking.Pods}, {c.services, &shoot.Spec.Networking.Services}, {c.nodes, &shoot.Spec.Networking.Nodes}} {
		if each.value != "" {
			*each.field = &each.value
		}
	}
	return shoot
}

// check refuses flags that describe no cluster in the input.
func (c *clusterFlags) check(cmd *cobra.Command, subjects []*manifest.Subject) error {
	for _, one := range subjects {
		if one.Author == pipeline.AuthorConfig {
			return nil
		}
	}
	for _, name := range c.names {
		if cmd.Flags().Changed(name) && len(subjects) > 0 {
			return fmt.Errorf("--%s describes the cluster of a bare NetworkConfig; the cluster of a Shoot or Network is in the manifests", name)
		}
	}
	return nil
}

// configTypes returns the network type of each apiVersion of NetworkConfigs.
func configTypes(p *pipeline.Pipeline) map[string]string {
	types := map[string]string{}
	for _, networkType := range p.Types() {
		one, _ := p.Plugin(networkType)
		for _, version := range one.ConfigVersions {
			types[version.String()] = networkType
		}
	}
	return types
}
