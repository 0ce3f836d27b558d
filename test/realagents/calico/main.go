// SPDX-License-Identifier: Apache-2.0

// Command agents builds Calico's agents from checkouts of their sources, puts them into images
// with the names of plugins/calico/images.yaml, and prints the directory with the archives. What
// is built already it takes from the user's cache. It reads the paths of the checkouts from
// environment variables, and runs in the root of a checkout of Trellis:
//
//	CALICO_SRC=… BIRD_SRC=… go run ./test/realcalico/agents
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
)

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
func check() (*build, error) {
	tags, err := readTags(imagesFile)
	if err != nil {
		return nil, err
	}
	found, notes, err := locate(tags)
	if err := errors.Join(err, checkMachine()); err != nil {
		return nil, err
	}
	for _, note := range notes {
		fmt.Fprintln(os.Stderr, "real Calico:", note)
	}
	return &build{from: found, tags: tags}, nil
}

// built builds what the cache does not have, and returns the directory with the archives.
func (b *build) built(ctx context.Context) (string, error) {
	key, err := b.key()
	if err != nil {
		return "", err
	}
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, b.tags["calico-node"].tag+"-"+key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, b.publish(ctx, root, dir)
}

// cacheRoot is the directory with all that this command has built.
func cacheRoot() (string, error) {
	root := os.Getenv("TRELLIS_CACHE")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no directory for caches: %w; set TRELLIS_CACHE to one", err)
		}
		root = filepath.Join(cache, "trellis")
	}
	root, err := filepath.Abs(filepath.Join(root, "calico-agents"))
	if err != nil {
		return "", err
	}
	return root, os.MkdirAll(root, 0o755)
}
