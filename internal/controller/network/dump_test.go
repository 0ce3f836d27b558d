// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/request"
)

// The folder for Requests may be missing, full or read-only.
func TestARequestThatCannotBeDumpedDoesNotFailTheNetwork(t *testing.T) {
	e := setup(t, func(o *network.Options) { o.DumpRequests = filepath.Join(t.TempDir(), "missing") })
	e.finished()
	e.Expect(e.log.With("The Request was not dumped")).NotTo(BeEmpty())
}

func TestADumpedRequestStatesTheVersionOfTheOperator(t *testing.T) {
	folder := t.TempDir()
	e := setup(t, func(o *network.Options) { o.DumpRequests = folder })
	n := e.finished()
	content, err := os.ReadFile(filepath.Join(folder, n.Namespace+".json"))
	e.Expect(err).NotTo(HaveOccurred())
	var dumped request.File
	e.Expect(json.Unmarshal(content, &dumped)).To(Succeed())
	e.Expect(dumped.Version).To(Equal(request.Version()))
	e.Expect(dumped.Name).To(Equal(n.Name))
	e.Expect(dumped.Spec).To(Equal(n.Spec))
}
