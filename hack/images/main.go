// SPDX-License-Identifier: Apache-2.0

// Command images writes images of Trellis' programs, without a container engine:
//
//	go run ./hack/images -o bin/images -registry ghcr.io/trellis-network -tag v0.1.0 trellis-operator
//
// For each program PROGRAM, which is the package ./cmd/PROGRAM, and each architecture ARCH it writes:
//
//   - PROGRAM-ARCH.tar, the image of one architecture, for `docker load`, `ctr images import` and
//     `crane push`;
//   - PROGRAM-ARCH.spdx.json, the list of what is in it (SBOM);
//   - PROGRAM/, a directory in the layout of OCI with all architectures as one image, for `crane push`
//     and `skopeo copy --all`.
//
// The same sources, tag and version of Go make the same files, wherever they are made.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/trellis-network/trellis/hack/gobuild"
)

func main() {
	var out, registry, tag, architectures string
	flag.StringVar(&out, "o", "bin/images", "the directory for the images")
	flag.StringVar(&registry, "registry", "", "the beginning of the images' names, such as ghcr.io/trellis-network")
	flag.StringVar(&tag, "tag", "", "the images' tag, which is also the programs' version")
	flag.StringVar(&architectures, "arch", "amd64,arm64", "the architectures, as Go names them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, out, registry, tag, strings.Split(architectures, ","), flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, registry, tag string, architectures, programs []string) error {
	dir, err := os.MkdirTemp("", "trellis-images-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, arch := range architectures {
		if err := compile(ctx, filepath.Join(dir, arch), arch, tag, programs); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, program := range programs {
		reference, err := name.NewTag(registry+"/"+program+":"+tag, name.StrictValidation)
		if err != nil {
			return err
		}
		var images []*image
		for _, arch := range architectures {
			image, err := newImage(reference, program, arch, filepath.Join(dir, arch, program))
			if err != nil {
				return fmt.Errorf("the image of %s for %s: %w", program, arch, err)
			}
			if err := image.write(out); err != nil {
				return err
			}
			images = append(images, image)
		}
		digest, err := writeLayout(filepath.Join(out, program), reference, images)
		if err != nil {
			return err
		}
		fmt.Printf("%s is %s@%s for %s\n", filepath.Join(out, program), reference, digest, strings.Join(architectures, " and "))
	}
	return nil
}

// compile builds static programs into a directory. What the linker would record of the checkout is
// left out, so that a checkout and an archive of the same sources make the same programs. The tag takes
// its place as their version, which is that of a release on all architectures.
func compile(ctx context.Context, dir, arch, tag string, programs []string) error {
	build := gobuild.Build{
		Name:      "images for " + arch,
		Env:       []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch},
		Flags:     []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w -X=github.com/trellis-network/trellis/internal/request.version=" + tag},
		Output:    dir + string(filepath.Separator),
		Preparing: "finding what must be compiled",
		Long:      "compiling takes some minutes on two cores; this is needed once for each architecture",
	}
	for _, program := range programs {
		build.Packages = append(build.Packages, "./cmd/"+program)
	}
	return build.Run(ctx)
}
