// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

// simulatedNodes is how many nodes the first shoot has. The second has real ones.
const simulatedNodes = 3

// planned is what the demo takes.
var planned = sandbox.Plans["demo"]

// wanted is what the demo shows.
type wanted struct {
	// shoots are the Shoots. The first has simulated nodes, and the second, if there is one, real
	// ones.
	shoots []*unstructured.Unstructured
	// programs is the directory with what real nodes run, or empty without real nodes.
	programs string
	// leftOut says why there are no real nodes, although the user did not choose a Shoot.
	leftOut string
}

// choose reads the Shoots: that of the file if the user named one, and otherwise one with
// simulated nodes and one with real nodes, if these can run here.
func choose(ctx context.Context, file string) (*wanted, error) {
	w := &wanted{}
	if file != "" {
		return w, w.add(file)
	}
	if err := w.add(simulatedShoot); err != nil {
		return nil, err
	}
	var err error
	if w.leftOut, err = sandbox.WithoutRealNodes(ctx, planned); err != nil || w.leftOut != "" {
		return w, err
	}
	if w.programs, err = sandbox.NodePrograms(); err != nil {
		return nil, err
	}
	return w, w.add(realShoot)
}

func (w *wanted) add(file string) error {
	shoot, err := readShoot(file)
	w.shoots = append(w.shoots, shoot)
	return err
}

// options are those of the sandbox for the Shoots.
func (w *wanted) options() sandbox.Options {
	options := sandbox.Options{Users: []string{standalone.User}, Stderr: os.Stderr}
	for i, shoot := range w.shoots {
		name := client.ObjectKeyFromObject(shoot).String()
		if i == 0 {
			name += fmt.Sprintf("=%d", simulatedNodes)
		}
		options.Shoots = append(options.Shoots, name)
	}
	if w.programs != "" {
		options.Real = &sandbox.RealNodes{Nodes: planned.RealNodes, Programs: w.programs}
	}
	return options
}
