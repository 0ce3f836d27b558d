// SPDX-License-Identifier: Apache-2.0

package routes_test

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	awsroutes "github.com/trellis-network/trellis/providers/aws/routes"
	"github.com/trellis-network/trellis/providers/routes"
)

// endpoint answers the requests of the EC2 Query API that routes need, as the API's reference
// describes them: a form with an Action in a POST, and XML as the answer. Filters, pages, quotas and
// the errors are as there.
type endpoint struct {
	*httptest.Server

	mutex     sync.Mutex
	tables    []*table
	instances []*instance
	quota     int
	pageSize  int
	// faults are answers in place of those that requests with an Action would have, one each.
	faults map[string][]fault
	// requests have the Actions so far, and what was signed by whom.
	requests []string
	signers  map[string]bool
}

type table struct {
	ID     string
	Tags   map[string]string
	Routes []route
}

type route struct {
	Destination                  string
	Interface, Gateway, Instance string
	State, Origin                string
}

type instance struct {
	ID, Interface string
	Tags          map[string]string
	State         string
	Check         bool
	Prefixes      []string
}

// fault is an answer with an error, or none before the client loses its patience.
type fault struct {
	Status        int
	Code, Message string
	Silent        bool
}

var (
	throttled    = fault{Status: 503, Code: "RequestLimitExceeded", Message: "Request limit exceeded."}
	unauthorized = fault{
		Status: 403, Code: "UnauthorizedOperation",
		Message: "You are not authorized to perform this operation. Encoded authorization failure message: " + strings.Repeat("x", 2000),
	}
	silent = fault{Silent: true}
)

const cluster = "shoot--garden--one"

var clusterTag = map[string]string{"kubernetes.io/cluster/" + cluster: "1", "Name": "one"}

// start serves an account with route tables and instances of the cluster.
func start(t *testing.T, tables, instances int) *endpoint {
	t.Helper()
	e := &endpoint{quota: 500, pageSize: 1000, faults: map[string][]fault{}, signers: map[string]bool{}}
	for i := range tables {
		e.tables = append(e.tables, &table{
			ID: fmt.Sprintf("rtb-%d", i), Tags: maps.Clone(clusterTag),
			Routes: []route{{Destination: "10.250.0.0/16", Gateway: "local", Origin: "CreateRouteTable"}, {Destination: "0.0.0.0/0", Gateway: "igw-1"}},
		})
	}
	for i := range instances {
		e.instances = append(e.instances, &instance{ID: id(i), Interface: fmt.Sprintf("eni-%d", i), Tags: maps.Clone(clusterTag), State: "running", Check: true})
	}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func id(i int) string { return fmt.Sprintf("i-%017x", i) }

// open opens the tables of the cluster with a client that does not wait before it tries again.
func (e *endpoint) open(t *testing.T) routes.Tables {
	t.Helper()
	opened, err := awsroutes.Provider{
		Endpoint: e.URL, Timeout: 200 * time.Millisecond, Backoff: func(int, error) (time.Duration, error) { return 0, nil },
	}.Open(routes.Cluster{Name: cluster, Region: "eu-west-1", Credentials: map[string][]byte{
		"accessKeyID": []byte("AKIDEXAMPLE"), "secretAccessKey": []byte("example"),
	}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return opened
}

// list opens the tables and lists them.
func (e *endpoint) list(t *testing.T) (routes.Tables, *routes.Listing) {
	t.Helper()
	opened := e.open(t)
	listing, err := opened.List(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return opened, listing
}

// fail has the next requests with an Action answered with a fault.
func (e *endpoint) fail(action string, faults ...fault) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.faults[action] = faults
}

// count returns how many requests had an Action.
func (e *endpoint) count(action string) (n int) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, each := range e.requests {
		if each == action {
			n++
		}
	}
	return n
}

// routesOf returns the routes of a table to network interfaces, as lines.
func (e *endpoint) routesOf(id string) []string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var lines []string
	for _, each := range e.table(id).Routes {
		if each.Interface != "" {
			lines = append(lines, each.Destination+" "+each.Interface)
		}
	}
	slices.Sort(lines)
	return lines
}

func (e *endpoint) table(id string) *table {
	i := slices.IndexFunc(e.tables, func(t *table) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return e.tables[i]
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if err := request.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	form := request.PostForm
	e.mutex.Lock()
	action := form.Get("Action")
	e.requests = append(e.requests, action)
	_, signer, _ := strings.Cut(request.Header.Get("Authorization"), "Credential=")
	signer, _, _ = strings.Cut(signer, "/")
	e.signers[signer] = true
	var answer any
	var f fault
	if faults := e.faults[action]; len(faults) > 0 {
		f, e.faults[action] = faults[0], faults[1:]
	} else {
		answer, f = e.answer(action, form)
	}
	e.mutex.Unlock()
	switch {
	case f.Silent:
		<-request.Context().Done()
	case f.Code != "":
		w.WriteHeader(cmp.Or(f.Status, http.StatusBadRequest))
		_, _ = fmt.Fprintf(w, "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>1</RequestID></Response>", f.Code, f.Message)
	default:
		raw, err := xml.Marshal(answer)
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(raw)
	}
}

// answer carries a request out.
func (e *endpoint) answer(action string, form url.Values) (any, fault) {
	t := e.table(cmp.Or(form.Get("RouteTableId"), form.Get("ResourceId.1")))
	if t == nil && !strings.HasPrefix(action, "Describe") && action != "ModifyNetworkInterfaceAttribute" {
		return nil, fault{Code: "InvalidRouteTableID.NotFound", Message: "The routeTable ID does not exist"}
	}
	wanted := route{
		Destination: cmp.Or(form.Get("DestinationCidrBlock"), form.Get("DestinationIpv6CidrBlock")), Interface: form.Get("NetworkInterfaceId"),
	}
	at := -1
	if t != nil {
		at = slices.IndexFunc(t.Routes, func(r route) bool { return r.Destination == wanted.Destination })
	}
	done := struct {
		XMLName xml.Name
		Return  bool `xml:"return"`
	}{xml.Name{Local: action + "Response"}, true}
	switch action {
	case "DescribeRouteTables":
		return e.describeTables(form), fault{}
	case "DescribeInstances":
		return e.describeInstances(form), fault{}
	case "CreateRoute":
		if at >= 0 {
			return nil, fault{Code: "RouteAlreadyExists", Message: "The route identified by " + wanted.Destination + " already exists."}
		}
		if e.used(t, wanted.Destination) >= e.quota {
			return nil, fault{Code: "RouteLimitExceeded", Message: "The maximum number of routes has been reached."}
		}
		t.Routes = append(t.Routes, wanted)
	case "ReplaceRoute":
		if at < 0 {
			return nil, fault{Code: "InvalidParameterValue", Message: "There is no route defined for '" + wanted.Destination + "' in the route table."}
		}
		t.Routes[at] = wanted
	case "DeleteRoute":
		if at < 0 {
			return nil, fault{Code: "InvalidRoute.NotFound", Message: "no route with destination-cidr-block " + wanted.Destination}
		}
		t.Routes = slices.Delete(t.Routes, at, at+1)
	case "CreateTags":
		for i := 1; form.Has(fmt.Sprintf("Tag.%d.Key", i)); i++ {
			t.Tags[form.Get(fmt.Sprintf("Tag.%d.Key", i))] = form.Get(fmt.Sprintf("Tag.%d.Value", i))
		}
		if len(t.Tags) > 50 {
			return nil, fault{Code: "TagLimitExceeded", Message: "The maximum number of Tags for a resource has been reached."}
		}
	case "DeleteTags":
		for i := 1; form.Has(fmt.Sprintf("Tag.%d.Key", i)); i++ {
			delete(t.Tags, form.Get(fmt.Sprintf("Tag.%d.Key", i)))
		}
	case "ModifyNetworkInterfaceAttribute":
		for _, each := range e.instances {
			if each.Interface == form.Get("NetworkInterfaceId") {
				each.Check = form.Get("SourceDestCheck.Value") != "false"
				return done, fault{}
			}
		}
		return nil, fault{Code: "InvalidNetworkInterfaceID.NotFound", Message: "The networkInterface ID does not exist"}
	default:
		return nil, fault{Code: "InvalidAction", Message: action}
	}
	return done, fault{}
}

// used returns how many routes of the family a table has.
func (e *endpoint) used(t *table, destination string) (n int) {
	for _, each := range t.Routes {
		if strings.Contains(each.Destination, ":") == strings.Contains(destination, ":") {
			n++
		}
	}
	return n
}

// page returns what is on the page that a request asks for, and the token of the next one.
func page[T any](e *endpoint, form url.Values, all []T) ([]T, string) {
	from, _ := strconv.Atoi(form.Get("NextToken"))
	size, _ := strconv.Atoi(form.Get("MaxResults"))
	to := from + min(e.pageSize, size)
	if to >= len(all) {
		return all[from:], ""
	}
	return all[from:to], strconv.Itoa(to)
}

// matches reports whether tags and a state match the filters of a request.
func matches(form url.Values, tags map[string]string, state string) bool {
	for i := 1; form.Has(fmt.Sprintf("Filter.%d.Name", i)); i++ {
		var values []string
		for j := 1; form.Has(fmt.Sprintf("Filter.%d.Value.%d", i, j)); j++ {
			values = append(values, form.Get(fmt.Sprintf("Filter.%d.Value.%d", i, j)))
		}
		switch form.Get(fmt.Sprintf("Filter.%d.Name", i)) {
		case "tag-key":
			if !slices.ContainsFunc(values, func(key string) bool { _, has := tags[key]; return has }) {
				return false
			}
		case "instance-state-name":
			if !slices.Contains(values, state) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

type (
	xmlTag struct {
		Key   string `xml:"key"`
		Value string `xml:"value"`
	}
	xmlRoute struct {
		IPv4      string `xml:"destinationCidrBlock,omitempty"`
		IPv6      string `xml:"destinationIpv6CidrBlock,omitempty"`
		Interface string `xml:"networkInterfaceId,omitempty"`
		Instance  string `xml:"instanceId,omitempty"`
		Gateway   string `xml:"gatewayId,omitempty"`
		State     string `xml:"state"`
		Origin    string `xml:"origin"`
	}
	xmlTable struct {
		ID     string     `xml:"routeTableId"`
		Routes []xmlRoute `xml:"routeSet>item"`
		Tags   []xmlTag   `xml:"tagSet>item"`
	}
	xmlInterface struct {
		ID       string   `xml:"networkInterfaceId"`
		Check    bool     `xml:"sourceDestCheck"`
		Index    int      `xml:"attachment>deviceIndex"`
		Prefixes []string `xml:"ipv6PrefixSet>item>ipv6Prefix,omitempty"`
	}
	xmlInstance struct {
		ID         string         `xml:"instanceId"`
		State      string         `xml:"instanceState>name"`
		Interfaces []xmlInterface `xml:"networkInterfaceSet>item"`
	}
	xmlReservation struct {
		Instances []xmlInstance `xml:"instancesSet>item"`
	}
)

func (e *endpoint) describeTables(form url.Values) any {
	answer := struct {
		XMLName xml.Name   `xml:"DescribeRouteTablesResponse"`
		Tables  []xmlTable `xml:"routeTableSet>item"`
		Next    string     `xml:"nextToken,omitempty"`
	}{}
	found := slices.DeleteFunc(slices.Clone(e.tables), func(t *table) bool { return !matches(form, t.Tags, "") })
	found, answer.Next = page(e, form, found)
	for _, each := range found {
		described := xmlTable{ID: each.ID}
		for key, value := range each.Tags {
			described.Tags = append(described.Tags, xmlTag{key, value})
		}
		for _, r := range each.Routes {
			one := xmlRoute{Interface: r.Interface, Instance: r.Instance, Gateway: r.Gateway, State: cmp.Or(r.State, "active"), Origin: cmp.Or(r.Origin, "CreateRoute")}
			if strings.Contains(r.Destination, ":") {
				one.IPv6 = r.Destination
			} else {
				one.IPv4 = r.Destination
			}
			described.Routes = append(described.Routes, one)
		}
		answer.Tables = append(answer.Tables, described)
	}
	return answer
}

func (e *endpoint) describeInstances(form url.Values) any {
	answer := struct {
		XMLName      xml.Name         `xml:"DescribeInstancesResponse"`
		Reservations []xmlReservation `xml:"reservationSet>item"`
		Next         string           `xml:"nextToken,omitempty"`
	}{}
	found := slices.DeleteFunc(slices.Clone(e.instances), func(i *instance) bool { return !matches(form, i.Tags, i.State) })
	found, answer.Next = page(e, form, found)
	for _, each := range found {
		answer.Reservations = append(answer.Reservations, xmlReservation{[]xmlInstance{{each.ID, each.State, []xmlInterface{
			{ID: each.Interface + "-second", Check: true, Index: 1},
			{ID: each.Interface, Check: each.Check, Index: 0, Prefixes: each.Prefixes},
		}}}})
	}
	return answer
}
