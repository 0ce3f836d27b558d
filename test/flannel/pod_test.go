// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
)

// attachment is a network namespace of a node that the CNI plugins connect, as a container
// runtime has them do for a pod.
type attachment struct {
	t    *testing.T
	node *node
	id   string
	// version replaces the version of the CNI configuration, if it is not empty.
	version string
	// ports are those of the node that lead to the pod, as the plugin portmap takes them.
	ports  []map[string]any
	result json.RawMessage
}

// newAttachment makes a namespace that nothing connects yet.
func newAttachment(n *node, id string) *attachment {
	n.t.Helper()
	n.run("ip", "netns", "add", id)
	n.run("ip", "-n", id, "link", "set", "lo", "up")
	return &attachment{t: n.t, node: n, id: id}
}

// newPod makes a namespace and connects it.
func newPod(n *node, id string) *attachment {
	n.t.Helper()
	p := newAttachment(n, id)
	if err := p.add(); err != nil {
		n.t.Fatal(err)
	}
	return p
}

func (p *attachment) network() network { return network(p.node.file("/run/netns/" + p.id)) }

// run runs a command in the pod's network.
func (p *attachment) run(args ...string) (string, error) {
	return p.node.try(append([]string{"ip", "netns", "exec", p.id}, args...)...)
}

// plugins returns the chain of plugins that the node is configured with. Each has the values of
// the list, and those of more.
func (p *attachment) plugins(more map[string]any) []map[string]any {
	p.t.Helper()
	content, err := os.ReadFile(p.node.file("/etc/cni/net.d/10-flannel.conflist"))
	if err != nil {
		p.t.Fatal(err)
	}
	var list struct {
		Name, CNIVersion string
		Plugins          []map[string]any
	}
	if err := json.Unmarshal(content, &list); err != nil {
		p.t.Fatal(err)
	}
	for _, plugin := range list.Plugins {
		plugin["name"], plugin["cniVersion"] = list.Name, list.CNIVersion
		if p.version != "" {
			plugin["cniVersion"] = p.version
		}
		if capabilities, _ := plugin["capabilities"].(map[string]any); capabilities["portMappings"] == true && p.ports != nil {
			plugin["runtimeConfig"] = map[string]any{"portMappings": p.ports}
		}
		delete(plugin, "capabilities") // what a container runtime uses and does not pass on
		for key, value := range more {
			plugin[key] = value
		}
	}
	return list.Plugins
}

// call calls one plugin as the CNI specification says.
func (p *attachment) call(verb string, config map[string]any) (json.RawMessage, error) {
	p.t.Helper()
	input, err := json.Marshal(config)
	if err != nil {
		p.t.Fatal(err)
	}
	command := p.node.command(fmt.Sprintf("/opt/cni/bin/%s", config["type"]))
	command.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "CNI_PATH=/opt/cni/bin", "CNI_COMMAND=" + verb}
	if verb != "STATUS" && verb != "GC" {
		command.Env = append(command.Env, "CNI_CONTAINERID="+p.id, "CNI_NETNS=/run/netns/"+p.id, "CNI_IFNAME=eth0")
	}
	var output, problems bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &output, &problems
	if err := command.Run(); err != nil {
		failure := &cniError{}
		if json.Unmarshal(output.Bytes(), failure) == nil && failure.Code != 0 {
			return nil, failure
		}
		return nil, fmt.Errorf("%s %s: %w\n%s%s", config["type"], verb, err, &output, &problems)
	}
	return output.Bytes(), nil
}

// cniError is how plugins report errors (CNI specification, section 5).
type cniError struct {
	Code         int
	Msg, Details string
}

// Error implements error.
func (e *cniError) Error() string { return fmt.Sprintf("%d: %s; %s", e.Code, e.Msg, e.Details) }

// add connects the pod.
func (p *attachment) add() error {
	p.t.Helper()
	for _, plugin := range p.plugins(nil) {
		if p.result != nil {
			plugin["prevResult"] = p.result
		}
		result, err := p.call("ADD", plugin)
		if err != nil {
			return err
		}
		p.result = result
	}
	return nil
}

// each calls all plugins with the result of ADD, in the order of the list or in the opposite one.
func (p *attachment) each(verb string, backwards bool, more map[string]any) error {
	p.t.Helper()
	plugins := p.plugins(more)
	if backwards {
		slices.Reverse(plugins)
	}
	for _, plugin := range plugins {
		if p.result != nil {
			plugin["prevResult"] = p.result
		}
		if _, err := p.call(verb, plugin); err != nil {
			return err
		}
	}
	return nil
}

func (p *attachment) del() error   { p.t.Helper(); return p.each("DEL", true, nil) }
func (p *attachment) check() error { p.t.Helper(); return p.each("CHECK", false, nil) }

// status asks the node's plugins whether they could connect a pod.
func (p *attachment) status() error { p.t.Helper(); return p.each("STATUS", false, nil) }

// addresses are those that ADD reported, in the order of the IP families.
func (p *attachment) addresses() []netip.Addr {
	p.t.Helper()
	var result struct {
		IPs []struct{ Address netip.Prefix }
	}
	if err := json.Unmarshal(p.result, &result); err != nil {
		p.t.Fatalf("%v\n%s", err, p.result)
	}
	var addresses []netip.Addr
	for _, ip := range result.IPs {
		addresses = append(addresses, ip.Address.Addr())
	}
	return addresses
}

// mtu returns the MTU of the pod's interface.
func (p *attachment) mtu() string {
	p.t.Helper()
	output, err := p.run("cat", "/sys/class/net/eth0/mtu")
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(output)
}
