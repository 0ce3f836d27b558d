// SPDX-License-Identifier: Apache-2.0

// Command calico builds Calico's agents from checkouts of their sources, puts them into images
// with the names of plugins/calico/images.yaml, and prints the directory with the archives. What
// is built already it takes from the user's cache. It reads the paths of the checkouts from
// environment variables, and runs in the root of a checkout of Trellis:
//
//	CALICO_SRC=… BIRD_SRC=… go run ./test/realagents/calico
//
// It first checks the checkouts, their tags, and what the machine needs. If anything is missing
// it names that and builds nothing. It writes into none of the checkouts. With -check it builds
// nothing anyway.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/trellis-network/trellis/test/realagents/build"
)

var agents = build.Agents{Name: "real Calico", Cache: "calico-agents"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	onlyCheck := flag.Bool("check", false, "say what is missing, and build nothing")
	flag.Parse()
	found, err := check()
	if err == nil && !*onlyCheck {
		var dir string
		if dir, err = found.built(ctx); err == nil {
			fmt.Println(dir)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "real Calico: %v\n", err)
		os.Exit(1)
	}
}

// check returns what can be built. Its error names all that is missing.
func check() (*builder, error) {
	tags, err := build.ReadTags(imagesFile)
	if err != nil {
		return nil, err
	}
	found, notes, err := locate(tags)
	if err := errors.Join(err, build.CheckMachine(packagesFile, kernelParts)); err != nil {
		return nil, err
	}
	for _, note := range notes {
		fmt.Fprintln(os.Stderr, "real Calico:", note)
	}
	return &builder{from: found, tags: tags}, nil
}

// built builds what the cache does not have, and returns the directory with the archives.
func (b *builder) built(ctx context.Context) (string, error) {
	key, err := b.key()
	if err != nil {
		return "", err
	}
	root, err := agents.Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, b.tags["calico-node"].Tag+"-"+key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, agents.Publish(ctx, dir, func(work string) ([]build.Step, error) {
		b.work = work
		return b.steps()
	}, b.writeImages)
}
