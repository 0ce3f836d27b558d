// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// MakeRoutes gives the router the routes to the pods of all nodes, as a cloud does.
func (s *Shoot) MakeRoutes(ctx context.Context) error {
	nodes := &corev1.NodeList{}
	if err := s.Cluster.List(ctx, nodes); err != nil {
		return err
	}
	router := s.Node("router")
	for i := range nodes.Items {
		node := &nodes.Items[i]
		for _, pods := range node.Spec.PodCIDRs {
			for _, address := range node.Status.Addresses {
				if address.Type != corev1.NodeInternalIP || strings.Contains(address.Address, ":") != strings.Contains(pods, ":") {
					continue
				}
				if output, err := router.Exec(ctx, "ip", "route", "replace", pods, "via", address.Address); err != nil {
					return fmt.Errorf("make the route to the pods of %s: %w: %s", node.Name, err, output)
				}
			}
		}
	}
	return nil
}
