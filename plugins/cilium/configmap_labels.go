// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
)

// labelPrefixName is the ConfigMap that says which labels of pods do not count, and
// labelPrefixKey its only entry.
const (
	labelPrefixName = "label-prefix-conf"
	labelPrefixKey  = "label-prefix"
)

// withoutMeaning begin the names of labels that do not make one pod another than the
// next. Each combination of labels that count is an identity, of which there cannot be
// many.
var withoutMeaning = []string{
	"io.kubernetes",
	"kubernetes.io",
	"apps.kubernetes.io/pod-index",
	"batch.kubernetes.io/job-completion-index",
	"batch.kubernetes.io/controller-uid",
	"beta.kubernetes.io",
	"k8s.io",
	"pod-template-generation",
	"pod-template-hash",
	"controller-revision-hash",
	"annotation.*",
	"controller-uid",
	"etcd_node",
}

// labelPrefixConfig never changes: the object is immutable.
var labelPrefixConfig = &corev1.ConfigMap{
	TypeMeta:   system.TypeMeta("v1", "ConfigMap"),
	ObjectMeta: system.Named(labelPrefixName, nil),
	Immutable:  new(true),
	Data:       map[string]string{labelPrefixKey: excluding(withoutMeaning)},
}

// excluding is a document that leaves labels out. It is indented, and begins and ends,
// like that of Gardener's extension, so that the object need not be made anew when a
// network is taken over.
func excluding(prefixes []string) string {
	entries := make([]string, 0, len(prefixes))
	for _, prefix := range prefixes {
		entries = append(entries, fmt.Sprintf(`    {
        "prefix": %q,
        "source": "any",
        "invert": true
    }`, prefix))
	}
	return fmt.Sprintf("{\n\"version\": 1,\n\"valid-prefixes\": [\n%s\n]\n}\n", strings.Join(entries, ",\n"))
}
