// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// AuditPolicy is the path of the audit policy with which the sandbox of a package writes what
// NewUsage reads.
const AuditPolicy = "../harness/audit-policy.yaml"

// Usage tells from an API server's audit log which rights a user has used.
type Usage struct {
	tb              testing.TB
	log             string
	user, namespace string

	mutex   sync.Mutex
	read    int64 // how many bytes of the log have been read
	used    sets.Set[Right]
	refused []string
	written map[string][]string
}

// NewUsage returns the record of what a user asks an API server for from now on. The namespace is the
// user's own. The cluster's sandbox must have the audit policy AuditPolicy.
func (c *Cluster) NewUsage(tb testing.TB, user, namespace string) *Usage {
	tb.Helper()
	if c.AuditLog == "" {
		tb.Fatal("the sandbox has no audit policy")
	}
	u := &Usage{tb: tb, log: c.AuditLog, user: user, namespace: namespace, used: sets.New[Right](), written: map[string][]string{}}
	info, err := os.Stat(u.log)
	if err != nil {
		tb.Fatal(err)
	}
	u.read = info.Size()
	return u
}

// Refused returns the requests for which the user lacked a right.
func (u *Usage) Refused() []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.update()
	return slices.Clone(u.refused)
}

// Written returns the requests that write objects in a namespace, each as a line.
func (u *Usage) Written(namespace string) []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.update()
	return slices.Clone(u.written[namespace])
}

// Unused returns those rights that no request has used, in words and sorted. A right with a name
// is used by a request for that object, and one with a wildcard by none.
func (u *Usage) Unused(granted sets.Set[Right]) []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.update()
	var unused []string
	for right := range granted.Difference(u.used) {
		unused = append(unused, right.String())
	}
	slices.Sort(unused)
	return unused
}

// event is what is read of an Event of audit.k8s.io/v1.
type event struct {
	Stage, Verb, RequestURI string
	User                    struct{ Username string }
	ImpersonatedUser        *struct{ Username string }
	ObjectRef               *struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus          struct{ Code int }
	Annotations             map[string]string
}

// update reads what the API server has written since. The last line may not be complete yet.
func (u *Usage) update() {
	u.tb.Helper()
	file, err := os.Open(u.log)
	if err != nil {
		u.tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReader(io.NewSectionReader(file, u.read, 1<<40))
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		u.read += int64(len(line))
		var one event
		if err := json.Unmarshal(line, &one); err != nil {
			u.tb.Fatal(fmt.Errorf("%s: %w", u.log, err))
		}
		user := one.User.Username
		if one.ImpersonatedUser != nil {
			user = one.ImpersonatedUser.Username
		}
		if user == u.user && one.ObjectRef != nil {
			u.note(&one)
		}
	}
}

// note records an event. A watch has two, of which the first is written when the API server begins to
// answer.
func (u *Usage) note(one *event) {
	ref := one.ObjectRef
	right := Right{Verb: one.Verb, Group: ref.APIGroup, Resource: ref.Resource, Name: ref.Name}
	right.Own = ref.Namespace == u.namespace && ref.Resource != "namespaces" // API servers log a Namespace as if it were in itself
	if ref.Subresource != "" {
		right.Resource += "/" + ref.Subresource
	}
	if one.Annotations["authorization.k8s.io/decision"] == "forbid" {
		u.refused = append(u.refused, fmt.Sprintf("%s: %s", right, one.RequestURI))
		return
	}
	u.use(right)
	asked, err := url.Parse(one.RequestURI)
	if err != nil {
		u.tb.Fatal(err)
	}
	if asked.Query().Has("sendInitialEvents") { // API servers that do not know this are asked for a list
		right.Verb = "list"
		u.use(right)
	}
	if right.Verb == "patch" && one.ResponseStatus.Code == http.StatusCreated { // a server-side apply
		right.Verb = "create"
		u.use(right)
	}
	if one.Verb != "get" && one.Verb != "list" && one.Verb != "watch" {
		u.written[ref.Namespace] = append(u.written[ref.Namespace], one.Verb+" "+asked.Path)
	}
}

// use notes the right to one object, and that to all of its kind.
func (u *Usage) use(one Right) {
	u.used.Insert(one)
	one.Name = ""
	u.used.Insert(one)
}
