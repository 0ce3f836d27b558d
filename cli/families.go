// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// deployed makes the Request of a running network one for the IP families that are deployed,
// as its status states: the second may be to come.
func deployed(request *pipeline.Request, network *extensionsv1alpha1.Network) {
	now, wanted := network.Status.IPFamilies, request.Spec.IPFamilies
	if len(now) == 1 && len(wanted) == 2 && now[0] == wanted[0] {
		request.Facts.IPFamilies = now
	}
}

// warnOfFamilies warns where the input lacks what the operator knows: whether the nodes are
// ready for a second IP family, or whether that is deployed already.
func (c *candidate) warnOfFamilies(subject *manifest.Subject) {
	now, wanted, status := c.request.Facts.IPFamilies, c.request.Spec.IPFamilies, subject.Network.Status.IPFamilies
	switch {
	case len(wanted) < 2:
	case subject.Author == pipeline.AuthorShoot && len(now) < 2:
		c.warnings = append(c.warnings, plugin.Warning{Field: "spec.networking.ipFamilies", Message: fmt.Sprintf(
			"only %s is assumed, since the nodes are not ready for %s; if the network has both, the operator keeps them: add the Network with its status", now[0], wanted[1])})
	case subject.Shoot == nil && len(status) == 1:
		c.warnings = append(c.warnings, plugin.Warning{Field: "status.ipFamilies", Message: fmt.Sprintf(
			"is %v, and %v is assumed; the operator adds %s once the nodes are ready: add the Shoot, whose constraint %s states that", status, now, wanted[1], pipeline.DualStackReady)})
	}
}
