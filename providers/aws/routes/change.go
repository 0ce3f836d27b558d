// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/trellis-network/trellis/providers/routes"
)

// The EC2 API changes one route with each request. A batch shares the requests that write claims,
// and ends with the first error that the other requests would have, too.

// Make implements routes.Tables.
func (t *tables) Make(ctx context.Context, wanted []routes.Route) []error {
	return t.perTable(wanted, func(table string, batch []routes.Route) []error {
		present, claimed := t.claims[table], maps.Clone(t.claims[table])
		for i := range batch {
			claimed[batch[i].Destination] = true
		}
		if err := t.writeClaims(ctx, table, claimed); err != nil {
			return repeat(err, len(batch))
		}
		full := map[bool]error{} // by whether the family is IPv4
		errs := each(ctx, batch, func(route routes.Route) error {
			isIPv4 := route.Destination.Addr().Is4()
			if full[isIPv4] != nil {
				return full[isIPv4]
			}
			err := t.write(ctx, route, present[route.Destination])
			if errors.Is(err, routes.ErrLimitReached) {
				full[isIPv4] = err
			}
			return err
		})
		for i, err := range errs {
			if errors.Is(err, routes.ErrTaken) {
				delete(claimed, batch[i].Destination)
			}
		}
		return withError(errs, t.writeClaims(ctx, table, claimed), routes.ErrTaken)
	})
}

// write makes a route, or directs one that is there to another instance.
func (t *tables) write(ctx context.Context, route routes.Route, present bool) error {
	target := t.interfaces[route.Machine]
	if target == "" {
		return fmt.Errorf("the cluster has no instance %s", route.Machine)
	}
	ipv4, ipv6 := destination(route.Destination)
	if present {
		_, err := t.client.ReplaceRoute(ctx, &ec2.ReplaceRouteInput{
			RouteTableId: aws.String(route.Table), DestinationCidrBlock: ipv4, DestinationIpv6CidrBlock: ipv6, NetworkInterfaceId: aws.String(target),
		})
		return failed(fmt.Sprintf("direct the route to %s in the route table %s to the instance %s", route.Destination, route.Table, route.Machine), err)
	}
	_, err := t.client.CreateRoute(ctx, &ec2.CreateRouteInput{
		RouteTableId: aws.String(route.Table), DestinationCidrBlock: ipv4, DestinationIpv6CidrBlock: ipv6, NetworkInterfaceId: aws.String(target),
	})
	return failed(fmt.Sprintf("make the route to %s in the route table %s to the instance %s", route.Destination, route.Table, route.Machine), err)
}

// Delete implements routes.Tables.
func (t *tables) Delete(ctx context.Context, owned []routes.Route) []error {
	return t.perTable(owned, func(table string, batch []routes.Route) []error {
		claimed := maps.Clone(t.claims[table])
		errs := each(ctx, batch, func(route routes.Route) error {
			if !claimed[route.Destination] {
				return nil // it is not this cluster's
			}
			ipv4, ipv6 := destination(route.Destination)
			_, err := t.client.DeleteRoute(ctx, &ec2.DeleteRouteInput{
				RouteTableId: aws.String(table), DestinationCidrBlock: ipv4, DestinationIpv6CidrBlock: ipv6,
			})
			if err != nil && !slices.Contains(goneCodes, code(err)) {
				return failed(fmt.Sprintf("delete the route to %s in the route table %s", route.Destination, table), err)
			}
			delete(claimed, route.Destination)
			return nil
		})
		return withError(errs, t.writeClaims(ctx, table, claimed), nil)
	})
}

// Forward implements routes.Tables.
func (t *tables) Forward(ctx context.Context, machines []string) []error {
	return each(ctx, machines, func(machine string) error {
		_, err := t.client.ModifyNetworkInterfaceAttribute(ctx, &ec2.ModifyNetworkInterfaceAttributeInput{
			NetworkInterfaceId: aws.String(t.interfaces[machine]), SourceDestCheck: &types.AttributeBooleanValue{Value: aws.Bool(false)},
		})
		return failed("turn the source/destination check of the instance "+machine+" off", err)
	})
}

// writeClaims writes the tags with the claims of a table, as far as they differ from those that it
// has.
func (t *tables) writeClaims(ctx context.Context, table string, claimed claims) error {
	wanted, has := claimed.encode(t.cluster), t.tags[table]
	var changed, obsolete []types.Tag
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if has[key] != wanted[key] {
			changed = append(changed, types.Tag{Key: aws.String(key), Value: aws.String(wanted[key])})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(has)) {
		if _, needed := wanted[key]; !needed && isClaims(t.cluster, key) {
			obsolete = append(obsolete, types.Tag{Key: aws.String(key)})
		}
	}
	action := "write the tags of the route table " + table + " that tell which routes are Trellis' own"
	if len(changed) > 0 {
		if _, err := t.client.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{table}, Tags: changed}); err != nil {
			return failed(action, err)
		}
	}
	if len(obsolete) > 0 {
		if _, err := t.client.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{table}, Tags: obsolete}); err != nil {
			return failed(action, err)
		}
	}
	maps.DeleteFunc(has, func(key, _ string) bool { return isClaims(t.cluster, key) })
	maps.Copy(has, wanted)
	return nil
}

// perTable calls change with the routes of each table, and returns the errors in the order of all
// routes. It ends with the first error that ends a batch.
func (t *tables) perTable(all []routes.Route, change func(table string, batch []routes.Route) []error) []error {
	errs := make([]error, len(all))
	var last error
	for _, table := range slices.Sorted(maps.Keys(t.claims)) {
		var batch []routes.Route
		var places []int
		for i := range all {
			if all[i].Table == table {
				batch, places = append(batch, all[i]), append(places, i)
			}
		}
		if len(batch) == 0 {
			continue
		}
		found := repeat(last, len(batch))
		if last == nil {
			found = change(table, batch)
		}
		for i, err := range found {
			errs[places[i]] = err
			if endsBatch(err) {
				last = err
			}
		}
	}
	return errs
}

// each calls change with one after the other until one ends the batch. The rest has its error.
func each[T any](ctx context.Context, all []T, change func(T) error) []error {
	errs := make([]error, len(all))
	for i := range all {
		errs[i] = change(all[i])
		if ctx.Err() != nil || endsBatch(errs[i]) {
			copy(errs[i+1:], repeat(errs[i], len(all)-i-1))
			if errs[i] == nil {
				copy(errs[i+1:], repeat(ctx.Err(), len(all)-i-1))
			}
			break
		}
	}
	return errs
}

func repeat(err error, n int) []error { return slices.Repeat([]error{err}, n) }

// withError adds an error to those that are of a kind; a nil kind is that of no error.
func withError(errs []error, err, kind error) []error {
	for i := range errs {
		if err != nil && errors.Is(errs[i], kind) {
			errs[i] = errors.Join(errs[i], err)
		}
	}
	return errs
}

// destination returns a range as the API has it, in one field for each IP family.
func destination(prefix netip.Prefix) (ipv4, ipv6 *string) {
	if prefix.Addr().Is4() {
		return aws.String(prefix.String()), nil
	}
	return nil, aws.String(prefix.String())
}
