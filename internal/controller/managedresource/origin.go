// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// origin is the value of the origin annotation.
func (o *Options) origin(mr *resourcesv1alpha1.ManagedResource) string {
	origin := mr.Namespace + "/" + mr.Name
	if o.ClusterID != "" {
		origin = o.ClusterID + ":" + origin
	}
	return origin
}

// parseOrigin takes apart the origin annotation, "[<cluster>:]<namespace>/<name>".
func parseOrigin(origin string) (cluster string, owner types.NamespacedName, ok bool) {
	if i := strings.LastIndex(origin, ":"); i >= 0 {
		cluster, origin = origin[:i], origin[i+1:]
	}
	owner.Namespace, owner.Name, ok = strings.Cut(origin, "/")
	return cluster, owner, ok && owner.Namespace != "" && owner.Name != ""
}
