// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	. "github.com/onsi/gomega"
)

// The list beside an image has each module that the program in it was linked from, and names the
// image by its digest.
func TestTheSBOMListsTheModulesOfTheProgram(t *testing.T) {
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			g := NewWithT(t)
			image, err := crane.Load(archive(t, program))
			g.Expect(err).NotTo(HaveOccurred())
			info, err := buildinfo.Read(bytes.NewReader(filesIn(t, image)[program]))
			g.Expect(err).NotTo(HaveOccurred())
			expected := map[string]string{"stdlib": strings.TrimPrefix(runtime.Version(), "go"), "github.com/trellis-network/trellis": "v0.1.0"}
			for _, module := range info.Deps {
				expected[module.Path] = module.Version
			}

			content, err := os.ReadFile(strings.TrimSuffix(archive(t, program), ".tar") + ".spdx.json")
			g.Expect(err).NotTo(HaveOccurred())
			var list struct {
				SPDXVersion string
				Packages    []struct {
					SPDXID, Name, VersionInfo string
					Checksums                 []struct{ ChecksumValue string }
					ExternalRefs              []struct{ ReferenceLocator string }
				}
				Relationships []struct{ SPDXElementID, RelationshipType, RelatedSPDXElement string }
			}
			g.Expect(json.Unmarshal(content, &list)).To(Succeed())
			g.Expect(list.SPDXVersion).To(Equal("SPDX-2.3"))
			g.Expect(list.Packages[0].Checksums[0].ChecksumValue).To(Equal(digestIn(t, archive(t, program)).Hex))
			listed, related := map[string]string{}, map[string]bool{}
			for _, relationship := range list.Relationships {
				related[relationship.RelatedSPDXElement] = true
			}
			for _, entry := range list.Packages {
				g.Expect(related).To(HaveKey(entry.SPDXID))
				g.Expect(entry.ExternalRefs[0].ReferenceLocator).To(HavePrefix("pkg:"))
				listed[entry.Name] = entry.VersionInfo
			}
			delete(listed, list.Packages[0].Name)
			g.Expect(listed).To(Equal(expected))
		})
	}
}
