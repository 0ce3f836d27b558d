// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	_ "embed"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

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
)

// certificates are the objects that make the certificates with which agents and relay know
// each other. Trellis does not make them itself, since rendering is pure and no key should
// leave the cluster. A Job makes the first ones at once, and a CronJob makes new ones long
// before they expire.
func (h hubble) certificates() []plugin.Object {
	return append(certificateAccess(), h.certificatesJob(), h.certificatesCronJob())
}

// certificatesJob runs when the network has no certificates yet, and again whenever it
// changes, since a Job cannot be updated. It then replaces the authority with all that
// the former one has signed; agents and relay read their files again.
func (h hubble) certificatesJob() *batchv1.Job {
	job := &batchv1.Job{
		TypeMeta:   system.TypeMeta("batch/v1", "Job"),
		ObjectMeta: system.Named(certificatesName, certificatesLabels()),
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32(10)), Template: h.certificatesPod()},
	}
	job.Annotations = map[string]string{system.DeleteOnInvalidUpdate: "true"}
	return job
}

// certificatesCronJob renews certificates three times a year, with the existing authority.
// It needs no pod network, since users may need Hubble to look into a broken one.
func (h hubble) certificatesCronJob() *batchv1.CronJob {
	pod := h.certificatesPod("--ca-reuse-secret")
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

func (h hubble) certificatesPod(options ...string) corev1.PodTemplateSpec {
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
				Image:           h.image("certgen"),
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
// Gardener's extension, to the byte: the Job would otherwise be recreated when a network
// is taken over, and with it the authority.
//
//go:embed hubble/certificates.yaml
var wantedCertificates string
