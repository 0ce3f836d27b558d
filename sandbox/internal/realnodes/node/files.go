// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the configuration files
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// Paths on the node.
const (
	socket           = "/run/containerd/containerd.sock"
	containerdConfig = "/etc/containerd/config.toml"
	kubeletConfig    = "/var/lib/kubelet/config.yaml"
	kubeconfig       = "/var/lib/kubelet/kubeconfig"
	credentials      = "/var/lib/kubelet/pki"
	limitedRuntime   = "/etc/containerd/runc"
)

var (
	//go:embed containerd.toml
	containerdTemplate string
	//go:embed kubelet.yaml
	kubeletTemplate string
	//go:embed runc.sh
	limitedRuntimeScript string
)

// writeFiles writes what is the node's own into its root, before this process enters it. It
// replaces what an earlier run has left.
func writeFiles(p *plan.Plan, node plan.Node) error {
	values := struct{ Socket, Pause, Credentials, ClusterDNS, Runtime string }{
		Socket: socket, Pause: p.Pause, Credentials: credentials,
	}
	if mayHave, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_RESOURCE, 0, 0, 0); err != nil {
		return fmt.Errorf("read which capabilities the node may have: %w", err)
	} else if mayHave == 0 {
		values.Runtime = limitedRuntime
	}
	var dns []string
	for _, address := range p.ClusterDNS {
		dns = append(dns, fmt.Sprintf("%q", address))
	}
	values.ClusterDNS = strings.Join(dns, ", ")

	identity := sha256.Sum256([]byte(node.Root))
	files := map[string]string{
		"/etc/hostname":   node.Name + "\n",
		"/etc/hosts":      "127.0.0.1 localhost\n::1 localhost\n",
		"/etc/machine-id": hex.EncodeToString(identity[:16]) + "\n",
		// Names outside of the cluster are not resolved.
		"/etc/resolv.conf": "",
	}
	if len(node.Addresses) > 0 {
		files["/etc/hosts"] += node.Addresses[0].Addr().String() + " " + node.Name + "\n"
	}
	for path, text := range map[string]string{containerdConfig: containerdTemplate, kubeletConfig: kubeletTemplate} {
		var content bytes.Buffer
		if err := template.Must(template.New(path).Parse(text)).Execute(&content, values); err != nil {
			return err
		}
		files[path] = content.String()
	}
	for path, from := range map[string]string{
		kubeconfig:                   node.Kubeconfig,
		credentials + "/ca.crt":      p.ClientCA,
		credentials + "/kubelet.crt": node.Certificate,
		credentials + "/kubelet.key": node.Key,
	} {
		if from == "" {
			continue // the importer has no kubelet
		}
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		files[path] = string(content)
	}
	for path, content := range files {
		if err := write(filepath.Join(node.Root, path), content); err != nil {
			return err
		}
	}
	if values.Runtime != "" {
		if err := os.WriteFile(filepath.Join(node.Root, limitedRuntime), []byte(limitedRuntimeScript), 0o755); err != nil {
			return err
		}
	}
	return copyTree(p.CNI, filepath.Join(node.Root, "opt/cni/bin"))
}

// write writes a file that everybody on the node can read, except for keys and credentials.
func write(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if strings.HasSuffix(path, ".key") || strings.HasSuffix(path, "kubeconfig") {
		mode = 0o600
	}
	return os.WriteFile(path, []byte(content), mode)
}
