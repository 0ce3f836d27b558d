// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	// certificatesName is the name of the Job, the CronJob, their ServiceAccount and
	// roles, and the app label of their pods.
	certificatesName = "hubble-generate-certs"
	// hubbleCA, hubbleServerCerts and hubbleRelayCerts are the Secrets that they write.
	hubbleCA          = "cilium-ca"
	hubbleServerCerts = "hubble-server-certs"
	hubbleRelayCerts  = "hubble-relay-client-certs"
	// clusterName is what Cilium calls a cluster that is not part of a mesh.
	clusterName = "default"
)

// hubbleCertificates make the certificates with which agents and relay know each other.
// They are made in the cluster: a key has no business here, and the same network would
// not give the same objects. A Job makes the first ones at once, and a CronJob makes new
// ones long before they expire.
func (n *network) hubbleCertificates() []plugin.Object {
	return append(certificatesAccess, n.certificatesJob(), n.certificatesCronJob())
}

// The ClusterRole of the ClusterRoleBinding does not exist, in Gardener's extension
// neither: the Role has all rights that are needed.
var certificatesAccess = plugin.Constants(slices.Concat(
	[]plugin.Object{system.ServiceAccount(certificatesName)},
	ofCilium(
		system.Role(certificatesName, certificatesRules()...),
		system.RoleBinding(certificatesName, system.Account(certificatesName)),
		system.ClusterRoleBinding(certificatesName, system.Account(certificatesName)),
	),
)...)

func certificatesRules() []rbacv1.PolicyRule {
	secrets := []string{"secrets"}
	certificates := system.Rule(coreGroup, secrets, "update")
	certificates.ResourceNames = []string{
		hubbleServerCerts, hubbleRelayCerts, "hubble-relay-server-certs", "hubble-metrics-server-certs", "hubble-ui-client-certs",
	}
	authority := system.Rule(coreGroup, secrets, "get", "update")
	authority.ResourceNames = []string{hubbleCA}
	return []rbacv1.PolicyRule{system.Rule(coreGroup, secrets, "create"), certificates, authority}
}

// certificatesJob runs when the network has no certificates yet, and again whenever it
// changes, since a Job cannot be updated. It then replaces the authority with all that
// the former one has signed; agents and relay read their files again.
func (n *network) certificatesJob() *batchv1.Job {
	job := &batchv1.Job{
		TypeMeta:   system.TypeMeta("batch/v1", "Job"),
		ObjectMeta: system.Named(certificatesName, certificatesLabels()),
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32(10)), Template: n.certificatesPod()},
	}
	job.Annotations = map[string]string{system.DeleteOnInvalidUpdate: "true"}
	return job
}

// certificatesCronJob renews certificates three times a year, with the existing authority.
// It needs no pod network, since users may need Hubble to look into a broken one.
func (n *network) certificatesCronJob() *batchv1.CronJob {
	pod := n.certificatesPod("--ca-reuse-secret")
	pod.Spec.HostNetwork = true
	return &batchv1.CronJob{
		TypeMeta:   system.TypeMeta("batch/v1", "CronJob"),
		ObjectMeta: system.Named(certificatesName, certificatesLabels()),
		Spec: batchv1.CronJobSpec{
			Schedule:                   "0 0 1 */4 *",
			ConcurrencyPolicy:          batchv1.ForbidConcurrent,
			SuccessfulJobsHistoryLimit: new(int32(3)),
			FailedJobsHistoryLimit:     new(int32(1)),
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
				TTLSecondsAfterFinished: new(int32(1800)), Template: pod,
			}},
		},
	}
}

func certificatesLabels() map[string]string {
	return named(certificatesName, system.SystemApp(certificatesName))
}

func (n *network) certificatesPod(options ...string) corev1.PodTemplateSpec {
	args := slices.Concat([]string{"--ca-generate=true"}, options, []string{
		"--ca-secret-namespace=" + namespace, "--ca-secret-name=" + hubbleCA, "--ca-common-name=Cilium CA",
	})
	return corev1.PodTemplateSpec{
		ObjectMeta: system.PodMeta(system.MayReachOut(system.App(certificatesName))),
		Spec: corev1.PodSpec{
			ServiceAccountName:           certificatesName,
			AutomountServiceAccountToken: new(true),
			RestartPolicy:                corev1.RestartPolicyOnFailure,
			SecurityContext:              &corev1.PodSecurityContext{SeccompProfile: system.RuntimeDefault()},
			Containers: []corev1.Container{{
				Name:            "certgen",
				Image:           n.image("certgen"),
				ImagePullPolicy: corev1.PullIfNotPresent,
				Command:         []string{"/usr/bin/cilium-certgen"},
				Args:            args,
				Env:             []corev1.EnvVar{{Name: "CILIUM_CERTGEN_CONFIG", Value: wantedCertificates}},
				SecurityContext: confined(capable()),
			}},
		},
	}
}

// wantedCertificates is what the generator is told. It is written like that of
// Gardener's extension, to the byte: the Job would otherwise be made anew when a network
// is taken over, and with it the authority.
var wantedCertificates = "certs:\n" +
	wanted(hubbleServerCerts, "*."+clusterName+".hubble-grpc.cilium.io", "signing", "key encipherment", "server auth", "client auth") +
	wanted(hubbleRelayCerts, "*.hubble-relay.cilium.io", "signing", "key encipherment", "client auth")

// wanted is a certificate for a host, which goes into a Secret.
func wanted(secret, host string, usage ...string) string {
	const threeYears = "26280h"
	return fmt.Sprintf(`- name: %s
  namespace: %s
  commonName: %q
  hosts:
  - %q
  usage:
  - %s
  validity: %s
`, secret, namespace, host, host, strings.Join(usage, "\n  - "), threeYears)
}
