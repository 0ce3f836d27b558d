// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/config"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/operator"
)

// right is what one request needs, without the object's name.
type right struct {
	verb, group, resource string
	// own reports whether the object is in the operator's own namespace.
	own bool
}

func (r right) String() string {
	place := "in the seed"
	if r.own {
		place = "in its own namespace"
	}
	return fmt.Sprintf("%s %s.%s %s", r.verb, r.resource, r.group, place)
}

// usage records which rights an operator uses.
type usage struct {
	namespace string // the operator's own

	mutex sync.Mutex
	// used has the names of the objects; "" is for requests without one.
	used map[right]map[string]bool
	// refused are the requests that need rights which the operator does not have.
	refused []string
	// written are the requests that write, by their paths' namespaces.
	written map[string][]string
}

func newUsage(namespace string) *usage {
	return &usage{namespace: namespace, used: map[right]map[string]bool{}, written: map[string][]string{}}
}

func (u *usage) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && !isTerminating(response) {
			u.note(request, response.StatusCode)
		}
		return response, err
	})
}

// isTerminating reports whether an object was refused because its namespace is being deleted.
func isTerminating(response *http.Response) bool {
	if response.StatusCode != http.StatusForbidden {
		return false
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && strings.Contains(string(body), "because it is being terminated")
}

// abandoned creates the webhook configurations that an operator with another configuration has left.
// Nothing serves their webhooks, of which there are none here.
func (o *installed) abandoned() (left []client.Object) {
	for _, name := range []string{"gardener-extension-trellis", "gardener-extension-trellis-networks"} {
		left = append(left, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{shoot.OperatorLabel: operator.DefaultName},
		}})
	}
	o.create(left...)
	return left
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (u *usage) note(request *http.Request, code int) {
	one, namespace, name, aboutObjects := u.rightFor(request)
	if !aboutObjects {
		return
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if code == http.StatusForbidden {
		u.refused = append(u.refused, one.String()+" "+namespace+"/"+name)
		return
	}
	u.use(one, name)
	if request.URL.Query().Has("sendInitialEvents") { // API servers that do not know this are asked for a list
		one.verb = "list"
		u.use(one, name)
	}
	if one.verb == "patch" && code == http.StatusCreated { // a server-side apply
		one.verb = "create"
		u.use(one, name)
	}
	if request.Method != http.MethodGet {
		u.written[namespace] = append(u.written[namespace], request.Method+" "+request.URL.Path)
	}
}

func (u *usage) use(one right, name string) {
	if u.used[one] == nil {
		u.used[one] = map[string]bool{}
	}
	u.used[one][name] = true
}

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// rightFor returns what a request needs: /api/v1/… or /apis/GROUP/VERSION/…, then the
// namespace, if the resource has one, the resource, the name, and the subresource.
func (u *usage) rightFor(request *http.Request) (one right, namespace, name string, aboutObjects bool) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		one.group, parts = parts[1], parts[3:]
	default:
		return one, "", "", false // discovery
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	one.resource, one.own = parts[0], namespace == u.namespace
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		one.resource += "/" + parts[2]
	}
	if name == "" { // RBAC takes it for a request for one object
		name, _ = strings.CutPrefix(request.URL.Query().Get("fieldSelector"), "metadata.name=")
	}
	switch {
	case request.Method != http.MethodGet:
		one.verb = verbs[request.Method]
		if one.verb == "delete" && name == "" {
			one.verb = "deletecollection"
		}
	case request.URL.Query().Has("watch"):
		one.verb = "watch"
	case len(parts) == 1:
		one.verb = "list"
	default:
		one.verb = "get"
	}
	return one, namespace, name, true
}

// unused returns the rights in a folder of config/rbac that no request has used. A right that
// names objects must be used for each of them.
func (u *usage) unused(t *testing.T, folder string) []string {
	t.Helper()
	u.mutex.Lock()
	defer u.mutex.Unlock()
	unused := map[string]bool{}
	for grant, names := range granted(t, folder) {
		if len(names) == 0 && u.used[grant] == nil {
			unused[grant.String()] = true
		}
		for _, name := range names {
			if !u.used[grant][name] {
				unused[grant.String()+" "+name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(unused))
}

// granted returns the rights in a folder of config/rbac with the names that they are for. A right
// without names is for all objects.
func granted(t *testing.T, folder string) map[right][]string {
	t.Helper()
	g := NewWithT(t)
	folder = "rbac/" + folder
	files, err := fs.ReadDir(config.Manifests, folder)
	g.Expect(err).NotTo(HaveOccurred())
	grants := map[right][]string{}
	for _, file := range files {
		document, err := config.Manifests.ReadFile(folder + "/" + file.Name())
		g.Expect(err).NotTo(HaveOccurred())
		role := &rbacv1.ClusterRole{}
		g.Expect(yaml.UnmarshalStrict(document, role)).To(Succeed())
		g.Expect(role.Rules).NotTo(BeEmpty())
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						one := right{verb, group, resource, file.Name() == "namespace.yaml"}
						grants[one] = append(grants[one], rule.ResourceNames...)
					}
				}
			}
		}
	}
	return grants
}
