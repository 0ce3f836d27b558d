// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/internal/wave"
	"github.com/trellis-network/trellis/pipeline"
)

// rollout returns how the configuration paces roll-outs, nil if it does not.
func (o *Options) rollout(built *pipeline.Pipeline) (*wave.Policy, error) {
	strategy := o.Config.Controllers.Network.RolloutStrategy
	if strategy == nil {
		return nil, nil
	}
	revision, err := o.revision(built)
	if err != nil {
		return nil, fmt.Errorf("find out which version is rolled out: %w", err)
	}
	return &wave.Policy{
		Revision:       revision,
		MaxConcurrency: *strategy.MaxConcurrency, MaxFailures: *strategy.MaxFailures,
		MinSuccessTime: strategy.MinSuccessTime.Duration, ProgressDeadline: strategy.ProgressDeadline.Duration,
		CanaryLabels: strategy.CanaryLabels, Paused: strategy.Paused,
	}, nil
}

// revision identifies what decides, beside users, what networks become: the program, and the settings
// that the pipeline gets. It is the same for all replicas of a release.
func (o *Options) revision(built *pipeline.Pipeline) (string, error) {
	version, err := programVersion()
	if err != nil {
		return "", err
	}
	settings, err := json.Marshal([]any{version, built.Types(), o.gates, o.images, probeOf(o.Config)})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(settings)
	return hex.EncodeToString(sum[:8]), nil
}

// programVersion returns the program's version, or a hash of the program where it was built without one,
// or from a tree with changes.
func programVersion() (string, error) {
	if version := request.Version(); version != "(devel)" && !strings.HasSuffix(version, "+dirty") {
		return version, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
