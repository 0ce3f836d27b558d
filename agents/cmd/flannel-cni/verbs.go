// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
)

// add gives a pod an interface. What is kept is written first, so that a DEL after a failed ADD
// finds what there may be to undo.
func add(args *skel.CmdArgs) error {
	c, err := parseConfig(args.StdinData)
	if err != nil {
		return err
	}
	d, err := c.delegation()
	if err != nil {
		return err
	}
	if err := kept(c.DataDir).write(args.ContainerID, d.with(interfaceKey, args.IfName)); err != nil {
		return types.NewError(types.ErrIOFailure, "keep the delegate's configuration for DEL", err.Error())
	}
	input, err := json.Marshal(d)
	if err != nil {
		return err
	}
	result, err := invoke.DelegateAdd(context.Background(), d.plugin(), input, nil)
	if err != nil {
		return delegateError(d, err)
	}
	return types.PrintResult(result, c.CNIVersion)
}

// del takes a pod's interface away. It may be called any number of times, also for a container
// that never had an interface. If nothing is kept for the container, the delegate gets what it
// would get at an ADD now, which suffices to release addresses.
func del(args *skel.CmdArgs) error {
	c, err := parseConfig(args.StdinData)
	if err != nil {
		return err
	}
	d, err := kept(c.DataDir).read(args.ContainerID)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(os.Stderr, "what was kept at ADD is of no use:", err)
		}
		if d, err = c.delegation(); err != nil {
			// The node's ranges are unknown, so that the interface goes with the pod's
			// network namespace. The specification wants no error.
			fmt.Fprintln(os.Stderr, "nothing to delegate:", err)
			return kept(c.DataDir).remove(args.ContainerID)
		}
	}
	return c.undo(args.ContainerID, d)
}

// undo lets the delegate take away what it made, in the environment of this process, and then
// forgets the container.
func (c *config) undo(container string, d delegation) error {
	if err := delegate(d, invoke.DelegateDel); err != nil {
		return err
	}
	if err := kept(c.DataDir).remove(container); err != nil {
		return types.NewError(types.ErrIOFailure, "forget the container", err.Error())
	}
	return nil
}

// check fails if a pod's interface is not as ADD made it.
func check(args *skel.CmdArgs) error {
	c, err := parseConfig(args.StdinData)
	if err != nil {
		return err
	}
	d, err := kept(c.DataDir).read(args.ContainerID)
	if err != nil {
		return types.NewError(types.ErrUnknownContainer, fmt.Sprintf("nothing of an ADD of container %s is kept", args.ContainerID), err.Error())
	}
	d = d.with("cniVersion", c.CNIVersion) // that of prevResult
	if c.PrevResult != nil {
		d["prevResult"] = c.PrevResult
	}
	return delegate(d, invoke.DelegateCheck)
}

// status fails while the plugin could serve no ADD.
func status(args *skel.CmdArgs) error {
	c, err := parseConfig(args.StdinData)
	if err != nil {
		return err
	}
	d, err := c.delegation()
	if why := (&types.Error{}); errors.As(err, &why) && why.Code == types.ErrTryAgainLater {
		return types.NewError(pluginNotAvailable, why.Msg, why.Details)
	}
	if err != nil {
		return err
	}
	return delegate(d, invoke.DelegateStatus)
}

// collect takes away what is left of containers that the container runtime does not know, in
// this network. The plugins bridge and host-local have no GC, so it is a DEL for each.
func collect(args *skel.CmdArgs) error {
	c, err := parseConfig(args.StdinData)
	if err != nil {
		return err
	}
	valid := map[string]bool{}
	for _, attachment := range c.ValidAttachments {
		valid[attachment.ContainerID] = true
	}
	containers, err := kept(c.DataDir).containers()
	if err != nil {
		return types.NewError(types.ErrIOFailure, "list the containers", err.Error())
	}
	var errs []error
	for _, container := range containers {
		if valid[container] {
			continue
		}
		d, err := kept(c.DataDir).read(container)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if d.text("name") == c.Name {
			errs = append(errs, c.collectOne(container, d))
		}
	}
	// Another delegate may have more to do.
	d, err := c.delegation()
	if err == nil {
		err = delegate(d.with(validAttachments, c.ValidAttachments), invoke.DelegateGC)
	}
	return errors.Join(append(errs, err)...)
}

// collectOne undoes the ADD of a container that is gone.
func (c *config) collectOne(container string, d delegation) error {
	ifname := d.text(interfaceKey)
	if ifname == "" {
		ifname = "eth0" // as container runtimes of Kubernetes call it; flannel's own plugin kept none
	}
	for variable, value := range map[string]string{"CNI_CONTAINERID": container, "CNI_IFNAME": ifname, "CNI_NETNS": ""} {
		if err := os.Setenv(variable, value); err != nil {
			return err
		}
	}
	return c.undo(container, d)
}

// delegate calls the delegate for what has no result.
func delegate(d delegation, verb func(ctx context.Context, plugin string, config []byte, exec invoke.Exec) error) error {
	input, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := verb(context.Background(), d.plugin(), input, nil); err != nil {
		return delegateError(d, err)
	}
	return nil
}

// delegateError says which plugin failed, and keeps the code of its error.
func delegateError(d delegation, err error) error {
	if theirs := (&types.Error{}); errors.As(err, &theirs) {
		return types.NewError(theirs.Code, fmt.Sprintf("plugin %s: %s", d.plugin(), theirs.Msg), theirs.Details)
	}
	return types.NewError(types.ErrInternal, fmt.Sprintf("plugin %s", d.plugin()), err.Error())
}
