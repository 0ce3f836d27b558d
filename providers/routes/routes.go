// SPDX-License-Identifier: Apache-2.0

// Package routes is the interface between the controller that makes routes to the pods of nodes,
// and the infrastructures in whose route tables it makes them. An infrastructure implements
// Provider in a package of its own, so that only programs that make routes contain its client.
package routes

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
)

// Provider gives access to the route tables of clusters on one kind of infrastructure.
type Provider interface {
	// Type is that of the infrastructure, as in spec.provider.type of Shoots.
	Type() string
	// Open gives access to the route tables of a cluster. It sends no request. An error means that
	// Cluster lacks something, and says for users what to do; it is an ErrNotAllowed if that is
	// about the credentials.
	Open(Cluster) (Tables, error)
}

// Cluster is a cluster whose nodes get routes.
type Cluster struct {
	// Name is the technical ID, with which the cluster's resources are tagged.
	Name string
	// Region is that of the infrastructure.
	Region string
	// Credentials are the content of the Secret cloudprovider.
	Credentials map[string][]byte
	// Wrap, if set, sees all requests to the infrastructure.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Tables are all route tables of one cluster. The controller opens them for each pass: it calls
// List once, then the methods that change something, one at a time. Deadlines are those of ctx.
//
// The errors of all methods wrap one of this package's errors if it applies. A method that changes
// several things returns an error for each, nil where that has succeeded, in the same order. It
// need not try what would fail as an earlier one did.
type Tables interface {
	// List returns what is there now.
	List(ctx context.Context) (*Listing, error)
	// Machine returns the ID of the machine with a node's spec.providerID, empty if that has not
	// the form of this infrastructure. The shoot decides about the value.
	Machine(providerID string) string
	// Limit is how many routes of one IP family a table takes, as long as the owner of the account
	// has not had that raised; 0 if it is not known.
	Limit() int
	// Make makes routes, or directs those to another machine that the table has and that are Owned.
	// A process that dies in it leaves no route that is not Owned.
	Make(ctx context.Context, wanted []Route) []error
	// Delete deletes routes that are Owned. One that is gone is no error.
	Delete(ctx context.Context, owned []Route) []error
	// Forward lets machines receive and send packets that are not of their own addresses.
	Forward(ctx context.Context, machines []string) []error
}

// Listing is what an infrastructure has for a cluster.
type Listing struct {
	// Tables are the route tables, in a stable order.
	Tables []Table
	// Machines are the machines of the cluster, by ID. No other machine may get a route.
	Machines map[string]Machine
}

// Table is one route table.
type Table struct {
	// ID identifies the table, also for users.
	ID string
	// Routes are all routes with a destination that is a range.
	Routes []Route
	// IPv4 and IPv6 are how many routes of the family count towards the Limit.
	IPv4, IPv6 int
}

// Route leads packets for a range of pods to a machine.
type Route struct {
	// Table is the ID of the table that it is in.
	Table string
	// Destination is the range.
	Destination netip.Prefix
	// Machine is the ID of the machine of the cluster that it leads to, empty if it leads elsewhere.
	Machine string

	// Target says in a Listing, for users, what it leads to.
	Target string
	// Owned reports in a Listing that Make has made it for this cluster, whichever process that was.
	// A route of another origin must never be changed.
	Owned bool
	// Broken reports in a Listing that packets for the destination are dropped, since the target is
	// gone or does not run.
	Broken bool
}

// Machine is a machine that a node runs on.
type Machine struct {
	// Forwards reports whether the infrastructure lets it receive and send packets that are not of
	// its own addresses.
	Forwards bool
	// Assigned are ranges that the infrastructure has assigned to the machine, so that packets reach
	// it without a route.
	Assigned []netip.Prefix
}

var (
	// ErrThrottled means that the infrastructure answers no more requests for now.
	ErrThrottled = errors.New("the infrastructure limits the rate of requests")
	// ErrLimitReached means that a route table takes no more routes.
	ErrLimitReached = errors.New("the route table is full")
	// ErrNotAllowed means that the credentials are refused, or lack a right.
	ErrNotAllowed = errors.New("the infrastructure refuses the credentials")
	// ErrTaken means that a table has a route with that destination which Make has not made.
	ErrTaken = errors.New("the route table has another route to that range")
)
