// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"
)

const (
	// gardenAudience is the audience that the garden demands of the issuer's tokens.
	gardenAudience = "virtual-garden"
	// foreignPrefix begins the names of the issuer's users in the garden.
	foreignPrefix = "runtime:"
)

// issuer makes tokens that the garden trusts, as the API server of a runtime cluster does for pods. It
// serves what OpenID Connect discovery asks for, with a certificate of its own.
type issuer struct {
	server *httptest.Server
	key    *rsa.PrivateKey
	folder string
}

// trusted is the issuer that the garden trusts from its start.
var trusted = newIssuer()

func newIssuer() *issuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	runtime.Must(err)
	i := &issuer{key: key}
	mux := http.NewServeMux()
	for path, document := range map[string]func() any{
		"/.well-known/openid-configuration": func() any {
			return map[string]any{
				"issuer": i.server.URL, "jwks_uri": i.server.URL + "/keys", "response_types_supported": []string{"id_token"},
				"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
			}
		},
		"/keys": func() any {
			return map[string]any{"keys": []any{map[string]any{
				"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "e": "AQAB", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
			}}}
		},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(document()) // who asks tries again
		})
	}
	i.server = httptest.NewTLSServer(mux)
	return i
}

// trust writes the configuration of an API server that trusts the issuer, and returns the file.
func (i *issuer) trust() string {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw})
	content, err := yaml.Marshal(map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
		"jwt": []any{map[string]any{
			"issuer":        map[string]any{"url": i.server.URL, "audiences": []string{gardenAudience}, "certificateAuthority": string(authority)},
			"claimMappings": map[string]any{"username": map[string]any{"claim": "sub", "prefix": foreignPrefix}},
		}},
	})
	runtime.Must(err)
	i.folder, err = os.MkdirTemp("", "trellis-issuer-")
	runtime.Must(err)
	file := filepath.Join(i.folder, "authentication.yaml")
	runtime.Must(os.WriteFile(file, content, 0o600))
	return file
}

// close removes what trust wrote, and stops serving.
func (i *issuer) close() error {
	i.server.Close()
	return os.RemoveAll(i.folder)
}

// token makes a token for a user, which is valid for an hour.
func (i *issuer) token(t *testing.T, user, audience string) string {
	t.Helper()
	g := NewWithT(t)
	now := time.Now()
	signed := ""
	for _, part := range []map[string]any{
		{"alg": "RS256", "typ": "JWT", "kid": "1"},
		{"iss": i.server.URL, "sub": user, "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()},
	} {
		content, err := json.Marshal(part)
		g.Expect(err).NotTo(HaveOccurred())
		if signed != "" {
			signed += "."
		}
		signed += base64.RawURLEncoding.EncodeToString(content)
	}
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, digest[:])
	g.Expect(err).NotTo(HaveOccurred())
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}
