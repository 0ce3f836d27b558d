// SPDX-License-Identifier: Apache-2.0

package imagevector_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/internal/imagevector"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// tags are those of the images of some plugins, which differ about shared.
var tags = map[string]string{"agent": "v1", "operator": "v2", "relay": "v3", "shared": ""}

func resolve(t *testing.T, stated map[string]string, file string) (map[string]string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "images_overwrite.yaml")
	NewWithT(t).Expect(os.WriteFile(path, []byte(file), 0o600)).To(Succeed())
	t.Setenv(imagevector.Variable, path)
	return imagevector.Resolve(tags, field.NewPath("images"), stated)
}

func TestImagesOfAFileReplaceOthersAsInGardenersExtensions(t *testing.T) {
	g := NewWithT(t)
	images, err := resolve(t, map[string]string{"relay": "mirror.example.org/relay:mine"}, `
images:
- name: agent
  sourceRepository: github.com/example/agent
  repository: mirror.example.org:5000/agent
  version: v1.1.0
  labels: [{name: a, value: {b: c}}]
  resourceId: {name: agent}
- {name: operator, repository: mirror.example.org/operator, tag: `+digest+`, architectures: [amd64]}
- {name: operator, repository: mirror.example.org/operator, tag: `+digest+`, architectures: [arm64]}
- {name: relay, repository: mirror.example.org/relay, tag: theirs}
- {name: shared, ref: "mirror.example.org/shared:v3@`+digest+`"}
`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(images).To(Equal(map[string]string{
		"agent":    "mirror.example.org:5000/agent:v1",
		"operator": "mirror.example.org/operator@" + digest,
		"relay":    "mirror.example.org/relay:mine",
		"shared":   "mirror.example.org/shared:v3@" + digest,
	}))
}

func TestAnEmptyFileReplacesNothing(t *testing.T) {
	for _, file := range []string{"", "{}", "images: []", "images:"} {
		g := NewWithT(t)
		images, err := resolve(t, nil, file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(images).To(BeEmpty())
	}
}

func TestEachWrongEntryOfAFileIsRefusedWithItsPathAndWhatIsAllowed(t *testing.T) {
	const notOne = "is not a reference of an image; write it as registry/repository:tag or registry/repository@sha256:digest"
	for file, message := range map[string]string{
		`images: [{name: agnet, ref: "a.b/c:d"}]`:                                                                        `images[0].name: Invalid value: "agnet": is not the name of an image; there are agent, operator, relay, shared; did you mean agent?`,
		`images: [{ref: "a.b/c:d"}]`:                                                                                     `images[0].name: Invalid value: "": is not the name of an image`,
		`images: [{name: agent}]`:                                                                                        `images[0].repository: Required value: state the repository and the tag of the image, or its ref`,
		`images: [{name: agent, tag: v1}]`:                                                                               `images[0].repository: Required value`,
		`images: [{name: shared, repository: a.b/c}]`:                                                                    `images[0].tag: Required value: the plugins use this image with several tags; state one`,
		`images: [{name: agent, ref: "a.b/c:d", tag: d}]`:                                                                `images[0].ref: Forbidden: has the repository and the tag already`,
		`images: [{name: agent, repository: a.b/c, tags: v1}]`:                                                           `images[0].tags: Invalid value: "v1": is not a field here; did you mean tag?`,
		`images: [{name: agent, repository: a.b/c, tag: 3.1}]`:                                                           `images[0].tag: Invalid value: 3.1: must be a string, not a number; write it in quotes`,
		`images: [{name: agent, repository: "A.b/C", tag: v1}]`:                                                          `images[0]: Invalid value: "A.b/C:v1": ` + notOne,
		`images: [{name: agent, repository: a.b/c, tag: ""}]`:                                                            `images[0]: Invalid value: "a.b/c:": ` + notOne,
		`images: [{name: agent, repository: a.b/c, tag: "sha256:1"}]`:                                                    `images[0]: Invalid value: "a.b/c@sha256:1": ` + notOne,
		`images: [{name: agent, ref: a.b/c}]`:                                                                            `images[0]: Invalid value: "a.b/c": ` + notOne,
		`images: [{name: agent, repository: a.b/c, tag: v1, targetVersion: ">= 1.30"}]`:                                  `images[0].targetVersion: Forbidden: Trellis uses one image in shoots of all versions of Kubernetes; leave the field out`,
		`images: [{name: agent, repository: a.b/c, tag: v1, runtimeVersion: "1.30"}]`:                                    `images[0].runtimeVersion: Forbidden`,
		`images: [{name: agent, repository: a.b/c}, {name: relay, ref: "a.b/r:v1"}, {name: agent, repository: a.b/arm}]`: `images[2]: Invalid value: "a.b/arm:v1": another entry replaces agent by a.b/c:v1`,
		`{imagez: []}`:                          `imagez: Invalid value`,
		`- {name: agent}`:                       `it must be an object with the list images`,
		`images: {}`:                            `images: Invalid value`,
		`images: [`:                             `it is not YAML`,
		"images: " + strings.Repeat(" ", 1<<20): `it has 1048584 bytes; at most 1048576 are allowed`,
	} {
		_, err := resolve(t, nil, file)
		g := NewWithT(t)
		g.Expect(err).To(MatchError(ContainSubstring(message)), file)
		g.Expect(err).To(MatchError(MatchRegexp(`^the image vector .*/images_overwrite\.yaml of \$IMAGEVECTOR_OVERWRITE is invalid: `)), file)
	}
}

func TestAllWrongEntriesAreToldAtOnce(t *testing.T) {
	_, err := resolve(t, nil, `images: [{name: agnet, ref: "a.b/c:d"}, {name: relay}]`)
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("images[0].name"), ContainSubstring("images[1].repository"))))
}

func TestAFileThatIsNotThereIsAnError(t *testing.T) {
	t.Setenv(imagevector.Variable, "/does/not/exist")
	_, err := imagevector.Resolve(tags, field.NewPath("images"), nil)
	NewWithT(t).Expect(err).To(MatchError("read the image vector of $IMAGEVECTOR_OVERWRITE: open /does/not/exist: no such file or directory"))
}

func TestWrongImagesOfTheConfigurationAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ name, reference, message string }{
		"a name that no image has":   {"operater", "a.b/c:d", `images[operater]: Invalid value: "operater": is not the name of an image; there are agent, operator, relay, shared; did you mean operator?`},
		"what is no reference":       {"agent", "a b", `images[agent]: Invalid value: "a b": is not a reference of an image`},
		"a reference that may drift": {"agent", "a.b/c", `images[agent]: Invalid value: "a.b/c": is not a reference of an image`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(imagevector.Variable, "")
			_, err := imagevector.Resolve(tags, field.NewPath("images"), map[string]string{test.name: test.reference})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("the configuration is invalid: " + test.message)))
		})
	}
}
