// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	"github.com/trellis-network/trellis/test/built"
)

func TestREADMEHasExactlyTheImagesThatThereAre(t *testing.T) { built.ExpectImagesInREADME(t) }

func TestEveryImageRunsSomewhereAndCanBeReplaced(t *testing.T) {
	networks.ExpectImages(t, "{multus: {enabled: true, installCNIPlugins: true}, birdExporter: {enabled: true}}")
}
