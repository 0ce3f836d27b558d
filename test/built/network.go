// SPDX-License-Identifier: Apache-2.0

package built

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Network is a network that was built. Constants among its objects are what they were
// made of.
type Network struct {
	// T is the test that it was built for.
	T *testing.T
	pipeline.Result
}

func (n *Network) network() *Network { return n }

const configPath = "spec.providerConfig."

// Refusals are the errors, as type @ path below the config.
func (n *Network) Refusals() []string {
	var found []string
	for _, err := range n.Errors {
		found = append(found, fmt.Sprintf("%s @ %s", err.Type, strings.TrimPrefix(err.Field, configPath)))
	}
	return found
}

// Warned returns the messages of warnings at a path below the config.
func (n *Network) Warned(path string) []string {
	var messages []string
	for _, warning := range n.Warnings {
		if warning.Field == configPath+path {
			messages = append(messages, warning.Message)
		}
	}
	return messages
}

// ExpectWarnings fails unless there is one warning at each of these paths below the
// config, with this in its message, and no other.
func (n *Network) ExpectWarnings(want map[string]string) {
	n.T.Helper()
	g := gomega.NewWithT(n.T)
	g.Expect(n.Warnings).To(gomega.HaveLen(len(want)))
	for path, message := range want {
		g.Expect(n.Warned(path)).To(gomega.ConsistOf(gomega.ContainSubstring(message)), path)
	}
}

// Classes are the classes of what has changed, by path.
func (n *Network) Classes() map[string]plugin.ChangeClass {
	classes := map[string]plugin.ChangeClass{}
	for _, change := range n.Changes {
		classes[change.Path] = change.Class
	}
	return classes
}
