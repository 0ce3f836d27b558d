// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	_ "embed"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
)

// wantedCertificates is what the generator is told. It is written like that of
// Gardener's extension, to the byte: the Job would otherwise be recreated when a network
// is taken over, and with it the authority.
//
//go:embed hubble/certificates.yaml
var wantedCertificates string

// hubble shows who talks to whom: agents keep what they see, the relay collects it from
// all of them, and the UI draws it.
func (n *network) hubble() []plugin.Object {
	if !n.config.Hubble.Enabled {
		return nil
	}
	certificates := certificateObjects(n.in)
	job, cronJob := manifest.Workload[*batchv1.Job](certificates), manifest.Workload[*batchv1.CronJob](certificates)
	for _, pod := range []*corev1.PodSpec{&job.Spec.Template.Spec, &cronJob.Spec.JobTemplate.Spec.Template.Spec} {
		manifest.Variable(manifest.Container(pod, "certgen"), "CILIUM_CERTGEN_CONFIG").Value = wantedCertificates
	}
	return slices.Concat(relayObjects(n.in), uiObjects(n.in), certificates)
}
