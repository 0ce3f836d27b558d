// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"runtime/debug"

	"github.com/trellis-network/trellis/pipeline"
)

// File is a file with a Request, which the operator dumps and the command line replays.
type File struct {
	// Version is that of the program that wrote the file.
	Version string `json:"trellisVersion,omitempty"`
	pipeline.Request
}

// Encode returns the content of the file with a Request.
func Encode(request *pipeline.Request) ([]byte, error) {
	return json.MarshalIndent(File{Version(), *request}, "", "  ")
}

// Version returns the version of this program's main module, which has the commit in it.
func Version() string {
	if info, has := debug.ReadBuildInfo(); has && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
