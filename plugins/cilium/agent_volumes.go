// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
)

// Names of the agent's volumes. Those that it shares with the operator or the proxy
// have the same name there.
const (
	tmpVolume         = "tmp"
	runVolume         = "cilium-run"
	netnsVolume       = "cilium-netns"
	bpfVolume         = "bpf-maps"
	cgroupVolume      = "cilium-cgroup"
	cniVolume         = "cni-path"
	cniConfigVolume   = "etc-cni-netd"
	hostProcVolume    = "hostproc"
	hostEtcVolume     = "host-etc"
	socketsVolume     = "envoy-sockets"
	configVolume      = "cilium-config-path"
	labelPrefixVolume = "label-prefix"
	clusterMeshVolume = "clustermesh-secrets"
	hubbleTLSVolume   = "hubble-tls"
	sysNetVolume      = "host-proc-sys-net"
	sysKernelVolume   = "host-proc-sys-kernel"
	modulesVolume     = "lib-modules"
	xtablesLockVolume = "xtables-lock"
)

const (
	clusterMeshFolder = "/var/lib/cilium/clustermesh"
	socketsFolder     = runFolder + "/envoy/sockets"
)

// agentMounts are those of container cilium-agent.
func agentMounts() []corev1.VolumeMount {
	fromHost := new(corev1.MountPropagationHostToContainer)
	return append([]corev1.VolumeMount{
		{Name: socketsVolume, MountPath: socketsFolder},
		{Name: sysNetVolume, MountPath: "/host/proc/sys/net"},
		{Name: sysKernelVolume, MountPath: "/host/proc/sys/kernel"},
		{Name: bpfVolume, MountPath: bpfFolder, MountPropagation: fromHost},
		{Name: runVolume, MountPath: runFolder},
		{Name: netnsVolume, MountPath: runFolder + "/netns", MountPropagation: fromHost},
		{Name: cniConfigVolume, MountPath: "/host/etc/cni/net.d"},
		{Name: clusterMeshVolume, MountPath: clusterMeshFolder, ReadOnly: true},
		{Name: modulesVolume, MountPath: "/lib/modules", ReadOnly: true},
		{Name: xtablesLockVolume, MountPath: "/run/xtables.lock"},
		{Name: hubbleTLSVolume, MountPath: "/var/lib/cilium/tls/hubble", ReadOnly: true},
	}, configMounts()...)
}

func agentVolumes() []corev1.Volume {
	return slices.Concat(hostVolumes(), configVolumes(), secretVolumes())
}

// hostVolumes are folders of the node, and one that goes with the pod.
func hostVolumes() []corev1.Volume {
	const (
		made      = corev1.HostPathDirectoryOrCreate
		directory = corev1.HostPathDirectory
	)
	return []corev1.Volume{
		{Name: tmpVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		system.HostPath(runVolume, runFolder, made),
		system.HostPath(netnsVolume, "/var/run/netns", made),
		system.HostPath(bpfVolume, bpfFolder, made),
		system.HostPath(hostProcVolume, "/proc", directory),
		system.HostPath(cgroupVolume, cgroupFolder, made),
		system.HostPath(cniVolume, cniFolder, made),
		system.HostPath(cniConfigVolume, "/etc/cni/net.d", made),
		system.HostPath(modulesVolume, "/lib/modules", corev1.HostPathUnset),
		system.HostPath(xtablesLockVolume, "/run/xtables.lock", corev1.HostPathFileOrCreate),
		system.HostPath(socketsVolume, socketsFolder, made),
		system.HostPath(hostEtcVolume, "/etc", directory),
		system.HostPath(sysNetVolume, "/proc/sys/net", directory),
		system.HostPath(sysKernelVolume, "/proc/sys/kernel", directory),
	}
}

// configVolumes and configMounts are the configuration that agent and operator share.
func configVolumes() []corev1.Volume {
	return []corev1.Volume{
		configMapVolume(configVolume, configName, nil),
		configMapVolume(labelPrefixVolume, "label-prefix-conf", new(int32(0o644))),
	}
}

func configMounts() []corev1.VolumeMount {
	return []corev1.VolumeMount{
		{Name: configVolume, MountPath: configFolder, ReadOnly: true},
		{Name: labelPrefixVolume, MountPath: labelPrefixFolder, ReadOnly: true},
	}
}

// secretVolumes are optional certificates: those of other clusters, which users would
// have to bring, and Hubble's.
func secretVolumes() []corev1.Volume {
	mesh := []*corev1.SecretProjection{
		{LocalObjectReference: corev1.LocalObjectReference{Name: "cilium-clustermesh"}},
		certificate("clustermesh-apiserver-remote-cert", "common-etcd-client.crt", "common-etcd-client.key", "common-etcd-client-ca.crt"),
		certificate("clustermesh-apiserver-local-cert", "local-etcd-client.crt", "local-etcd-client.key", "local-etcd-client-ca.crt"),
	}
	hubble := certificate(hubbleServerCerts, "server.crt", "server.key", "client-ca.crt")
	for _, secret := range append(mesh, hubble) {
		secret.Optional = new(true)
	}
	return []corev1.Volume{projected(clusterMeshVolume, mesh...), projected(hubbleTLSVolume, hubble)}
}

func configMapVolume(name, configMap string, mode *int32, keys ...string) corev1.Volume {
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, DefaultMode: mode}
	for _, key := range keys {
		source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: source}}
}
