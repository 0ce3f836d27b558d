// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/operator"
)

// A user would believe that nodes pull from a mirror.
func TestUnknownImagesKeepTheOperatorFromStarting(t *testing.T) {
	for name, test := range map[string]struct{ config, file, message string }{
		"of the configuration": {"images: {trellis-prob: mirror.example.org/probe:v1}", "", "the configuration is invalid: images[trellis-prob]: "},
		"of Gardener's file":   {"", "images: [{name: trellis-prob, ref: mirror.example.org/probe:v1}]", "is invalid: images[0].name: "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			config, err := configv1alpha1.Load([]byte(test.config))
			g.Expect(err).NotTo(HaveOccurred())
			file := filepath.Join(t.TempDir(), "images.yaml")
			g.Expect(os.WriteFile(file, []byte(test.file), 0o600)).To(Succeed())
			t.Setenv("IMAGEVECTOR_OVERWRITE", file)
			err = operator.Run(t.Context(), operator.Options{Config: config, Seed: &rest.Config{Host: "seed.invalid"}})
			g.Expect(err).To(MatchError(And(ContainSubstring(test.message), ContainSubstring("did you mean trellis-probe?"))))
		})
	}
}
