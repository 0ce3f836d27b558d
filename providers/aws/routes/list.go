// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trellis-network/trellis/providers/routes"
)

const (
	// A page has as many results as the API allows.
	tablesPerPage, instancesPerPage = 100, 1000
	// maxPages ends a list that does not end.
	maxPages = 50
)

// tables are the route tables of one cluster, for one pass.
type tables struct {
	client  *ec2.Client
	cluster string
	// claims and tags are what the tables have, by their IDs, claims only of routes that are there.
	claims map[string]claims
	tags   map[string]map[string]string
	// interfaces are the network interfaces that routes lead to, by the IDs of the instances.
	interfaces map[string]string
}

// clusterTag is the key of the tag of what belongs to a cluster, as the cloud provider of
// Kubernetes reads it.
func (t *tables) clusterTag() string { return "kubernetes.io/cluster/" + t.cluster }

// providerIDs are those of nodes: aws:///eu-west-1a/i-0123456789abcdef0.
var providerIDs = regexp.MustCompile(`^aws://[a-z0-9-]*/(?:[a-z0-9-]+/)?(i-[0-9a-f]{8,17})$`)

// Machine implements routes.Tables.
func (t *tables) Machine(providerID string) string {
	if match := providerIDs.FindStringSubmatch(providerID); match != nil {
		return match[1]
	}
	return ""
}

// Limit implements routes.Tables.
func (t *tables) Limit() int { return maxRoutes }

// List implements routes.Tables.
func (t *tables) List(ctx context.Context) (*routes.Listing, error) {
	listing := &routes.Listing{Machines: map[string]routes.Machine{}}
	if err := t.listInstances(ctx, listing); err != nil {
		return nil, err
	}
	if err := t.listTables(ctx, listing); err != nil {
		return nil, err
	}
	slices.SortFunc(listing.Tables, func(a, b routes.Table) int { return cmp.Compare(a.ID, b.ID) })
	return listing, nil
}

func (t *tables) listInstances(ctx context.Context, listing *routes.Listing) error {
	const action = "list the instances of the cluster"
	in := &ec2.DescribeInstancesInput{MaxResults: aws.Int32(instancesPerPage), Filters: []types.Filter{
		{Name: aws.String("tag-key"), Values: []string{t.clusterTag()}},
		{Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"}},
	}}
	for range maxPages {
		out, err := t.client.DescribeInstances(ctx, in)
		if err != nil {
			return failed(action, err)
		}
		for i := range out.Reservations {
			for j := range out.Reservations[i].Instances {
				t.addInstance(listing, &out.Reservations[i].Instances[j])
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return nil
		}
	}
	return fmt.Errorf("%s: there are more than %d pages", action, maxPages)
}

// addInstance adds an instance with its first network interface, to which routes lead.
func (t *tables) addInstance(listing *routes.Listing, instance *types.Instance) {
	for i := range instance.NetworkInterfaces {
		each := &instance.NetworkInterfaces[i]
		if each.Attachment == nil || aws.ToInt32(each.Attachment.DeviceIndex) != 0 || aws.ToInt32(each.Attachment.NetworkCardIndex) != 0 {
			continue
		}
		machine := routes.Machine{Forwards: !aws.ToBool(each.SourceDestCheck)}
		for _, prefix := range each.Ipv4Prefixes {
			machine.Assigned = appendPrefix(machine.Assigned, prefix.Ipv4Prefix)
		}
		for _, prefix := range each.Ipv6Prefixes {
			machine.Assigned = appendPrefix(machine.Assigned, prefix.Ipv6Prefix)
		}
		listing.Machines[aws.ToString(instance.InstanceId)] = machine
		t.interfaces[aws.ToString(instance.InstanceId)] = aws.ToString(each.NetworkInterfaceId)
		return
	}
}

func appendPrefix(all []netip.Prefix, text *string) []netip.Prefix {
	if prefix, err := netip.ParsePrefix(aws.ToString(text)); err == nil {
		return append(all, prefix.Masked())
	}
	return all
}

func (t *tables) listTables(ctx context.Context, listing *routes.Listing) error {
	const action = "list the route tables of the cluster"
	t.tags = map[string]map[string]string{}
	machines := map[string]string{} // by their network interfaces
	for machine, networkInterface := range t.interfaces {
		machines[networkInterface] = machine
	}
	in := &ec2.DescribeRouteTablesInput{MaxResults: aws.Int32(tablesPerPage), Filters: []types.Filter{
		{Name: aws.String("tag-key"), Values: []string{t.clusterTag()}},
	}}
	for range maxPages {
		out, err := t.client.DescribeRouteTables(ctx, in)
		if err != nil {
			return failed(action, err)
		}
		for i := range out.RouteTables {
			listing.Tables = append(listing.Tables, t.readTable(&out.RouteTables[i], machines))
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return nil
		}
	}
	return fmt.Errorf("%s: there are more than %d pages", action, maxPages)
}

// readTable returns a table, and remembers its tags and claims.
func (t *tables) readTable(table *types.RouteTable, machines map[string]string) routes.Table {
	id, tags := aws.ToString(table.RouteTableId), map[string]string{}
	for _, tag := range table.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	claimed, present := decodeClaims(t.cluster, tags), claims{}
	read := routes.Table{ID: id}
	for i := range table.Routes {
		route := &table.Routes[i]
		if route.Origin == types.RouteOriginEnableVgwRoutePropagation {
			continue // it has a quota of its own, and cannot be changed
		}
		destination, err := netip.ParsePrefix(cmp.Or(aws.ToString(route.DestinationCidrBlock), aws.ToString(route.DestinationIpv6CidrBlock)))
		if err != nil {
			read.IPv4++ // a prefix list, which counts for both
			read.IPv6++
			continue
		}
		if destination.Addr().Is4() {
			read.IPv4++
		} else {
			read.IPv6++
		}
		target := aws.ToString(route.NetworkInterfaceId)
		found := routes.Route{
			Table: id, Destination: destination, Machine: machines[target],
			Target: targetOf(route), Broken: route.State == types.RouteStateBlackhole,
			// A user may have replaced the route by one to a gateway.
			Owned: claimed[destination] && (target != "" || aws.ToString(route.InstanceId) != ""),
		}
		if found.Owned {
			present[destination] = true
		}
		read.Routes = append(read.Routes, found)
	}
	t.tags[id], t.claims[id] = tags, present
	return read
}

// targetOf returns the ID of what a route leads to.
func targetOf(route *types.Route) string {
	for _, id := range []*string{
		route.InstanceId, route.NetworkInterfaceId, route.GatewayId, route.NatGatewayId, route.TransitGatewayId, route.VpcPeeringConnectionId,
		route.EgressOnlyInternetGatewayId, route.LocalGatewayId, route.CarrierGatewayId, route.CoreNetworkArn, route.OdbNetworkArn,
	} {
		if aws.ToString(id) != "" {
			return aws.ToString(id)
		}
	}
	return "nothing"
}
