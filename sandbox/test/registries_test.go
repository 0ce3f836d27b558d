// SPDX-License-Identifier: Apache-2.0

package test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
)

// registryName is the host for which the certificate of the test's registry is.
const registryName = "example.com"

// aRegistry starts a registry on the machine's loopback interface that has one image, and
// returns its address, and the certificate of its authority.
func aRegistry(t *testing.T, programs *nodeprograms.Programs) (address, authority string) {
	t.Helper()
	silent := log.New(io.Discard, "", 0)
	server := httptest.NewUnstartedServer(registry.New(registry.Logger(silent)))
	server.Config.ErrorLog = silent
	server.StartTLS()
	t.Cleanup(server.Close)
	address = server.Listener.Addr().String()
	pushed, err := name.ParseReference(address + "/agents/theirs:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(pushed, theirs(t, programs, "pulled"),
		remote.WithTransport(server.Client().Transport)); err != nil {
		t.Fatal(err)
	}
	return address, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// missing are the images for which pods wait, as `node list` prints them, with the messages.
func (s *sandbox) missing(t *testing.T) map[string]string {
	t.Helper()
	var list struct {
		MissingImages []struct {
			Image, Message string
			Pods           []string
		}
	}
	if err := json.Unmarshal([]byte(s.node(t, "list")), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, image := range list.MissingImages {
		found[image.Image] = fmt.Sprint(image.Pods, " ", image.Message)
	}
	return found
}

// TestNodesPullFromRegistries has a registry on the machine that the user names, and another
// server there that is not named. Nodes pull from the first, and pods reach neither.
func TestNodesPullFromRegistries(t *testing.T) {
	needsRealNodes(t)
	programs := realNodes(t)
	address, authority := aRegistry(t, programs)
	secret := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(secret.Close)

	s := up(t, "--dir", filepath.Join(t.TempDir(), "sandbox"), "--shoot=garden-dev/one", "--nodes=real:1", "--node-programs", programs.Dir,
		"--registry", registryName+"="+address)
	shoot := s.Shoots[0].Kubeconfig
	config := "/etc/containerd/certs.d/" + registryName
	s.onNode(t, "node-1", "sh", "-c", "mkdir -p "+config+" && cat > "+config+"/ca.crt <<'E'\n"+authority+"E\n"+
		"printf 'server = \"https://%s\"\\n[host.\"https://%s\"]\\nca = \"%s/ca.crt\"\\n' "+registryName+" "+registryName+" "+config+" > "+config+"/hosts.toml")

	s.runPod(t, "pulled", registryName+"/agents/theirs:v1")
	const inside, gone = "10.11.12.13/agents/theirs:v1", registryName + "/agents/gone:v1"
	s.runPod(t, "inside", inside)
	s.runPod(t, "gone", gone)
	s.must(t, shoot, "wait", "--for=condition=Ready", "pod/pulled", "--timeout=60s")
	if got := s.must(t, shoot, "exec", "pulled", "--", "cat", "/whose"); got != "pulled" {
		t.Errorf("the pod has the file of %q", got)
	}

	t.Run("what is missing is named with the reason", func(t *testing.T) {
		wanted := map[string]string{
			inside: "10.11.12.13 is no public address; if it is a registry, start the sandbox with --registry 10.11.12.13:443",
			gone:   "not found",
		}
		var found map[string]string
		defer func() { t.Logf("missing: %q", found) }()
		eventually(t, "message about the missing images", func() bool {
			found = s.missing(t)
			for image, message := range wanted {
				if !strings.Contains(found[image], message) {
					return false
				}
			}
			return len(found) == len(wanted)
		})
		if !strings.HasPrefix(found[gone], "[default/gone]") {
			t.Errorf("the pods that wait are not named")
		}
	})

	t.Run("pods do not reach the machine by the proxy", func(t *testing.T) {
		for _, target := range []string{secret.Listener.Addr().String(), registryName + ":443", "127.0.0.1:443"} {
			ask := fmt.Sprintf(`printf 'CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n' | nc -w 5 10.250.0.1 3128`, target)
			out, _ := s.try(shoot, "exec", "pulled", "--", "sh", "-c", ask)
			if !strings.HasPrefix(out, "HTTP/1.1 407 ") {
				t.Errorf("%s: a pod got %q", target, out)
			}
		}
	})

	t.Run("the password is not in pods", func(t *testing.T) {
		environment := strings.Split(s.must(t, shoot, "exec", "pulled", "--", "env"), "\n")
		if slices.ContainsFunc(environment, func(variable string) bool { return strings.Contains(strings.ToUpper(variable), "PROXY") }) {
			t.Errorf("a pod has the variables %q", environment)
		}
	})
}
