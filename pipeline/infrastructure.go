// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/plugin"
)

// Infrastructures returns the types of infrastructure that have a provider, sorted.
func (p *Pipeline) Infrastructures() []string { return slices.Sorted(maps.Keys(p.providers)) }

// Infrastructure returns what is the same in all clusters of an infrastructure that has a provider.
func (p *Pipeline) Infrastructure(infrastructure string) plugin.Infrastructure {
	return p.providers[infrastructure].Infrastructure(nil)
}

// checkInfrastructure warns of an infrastructure that no provider knows, and of a Network that
// names another one than its Shoot.
func (b *build) checkInfrastructure() {
	stated, inForce := b.request.Spec.CloudProvider, b.in.Infrastructure.Type
	path := field.NewPath("shoot", "spec", "provider", "type")
	switch {
	case b.request.Author != AuthorNetwork:
		path = field.NewPath("spec", "provider", "type")
	case stated == inForce:
		path = field.NewPath("spec", "cloudProvider")
	case stated != "":
		b.Warn(field.NewPath("spec", "cloudProvider"), fmt.Sprintf("is %s, but the Shoot has %s; the Shoot counts",
			fielderror.Abbreviate(stated), fielderror.Abbreviate(inForce)))
	}
	known := b.pipeline.Infrastructures()
	if inForce == "" || len(known) == 0 || slices.Contains(known, inForce) {
		return
	}
	b.Warn(path, fmt.Sprintf("%s is an infrastructure that Trellis does not know, so it assumes that nothing is restricted there; known are %s",
		fielderror.Abbreviate(inForce), fielderror.Choices(known, inForce)))
}

// checkRoutes refuses a network whose pods only reach each other by routes that nothing makes, and
// warns if it runs. It also warns if there may be more nodes than routes.
func (b *build) checkRoutes() {
	path, infrastructure := b.plugin.DescribeDataPath(b.config), &b.in.Infrastructure
	b.result.DataPath, b.result.lacks = path.In(infrastructure), path.Lacks
	if !path.NeedsRoutes() {
		return
	}
	at := b.paths.config
	if path.Field != "" {
		at = plugin.At(at, path.Field)
	}
	most := infrastructure.MaxPodRoutes
	switch {
	case infrastructure.NoPodRoutes:
		message := fmt.Sprintf("pods on different nodes would not reach each other: the network relies on routes to the nodes' pod ranges, and on %s nothing makes them",
			cmp.Or(infrastructure.Type, "this infrastructure"))
		var advice []string
		for _, edit := range path.Instead {
			advice = append(advice, edit.String())
		}
		if len(advice) > 0 {
			message += "; " + strings.Join(advice, ", or ")
		}
		refusal := field.Forbidden(at, message)
		if b.request.Runs {
			b.Warn(at, refusal.ErrorBody())
			return
		}
		b.Error(refusal)
	case most > 0 && b.in.NodesAtMost > most:
		b.Warn(at, fmt.Sprintf("the pods of each node need a route, and %s allows %d in a route table unless its quota is raised; the workers may grow to %d nodes: have the quota raised before they do, or let them grow less",
			infrastructure.Type, most, b.in.NodesAtMost))
	}
}

// DataPath returns how packets travel in a network of a type as it was applied, and who makes the
// routes, in one line: "IP-in-IP between nodes; routes by BIRD". It is empty if the plugin does not
// describe it, and an error if there is no such plugin, or if the plugin cannot read the config.
func (p *Pipeline) DataPath(networkType string, applied *Applied) (line string, err error) {
	one, has := p.Plugin(networkType)
	if !has {
		return "", fmt.Errorf("this program has no plugin for the type %q", fielderror.Abbreviate(networkType))
	}
	var infrastructure plugin.Infrastructure
	if accepted := applied.Accepted; accepted != nil {
		infrastructure = accepted.Facts.Infrastructure
	}
	err = plugin.Guard(one.Type, func() error {
		effective, errs := one.Decode(applied.Config, nil)
		if len(errs) == 0 {
			line = one.DescribeDataPath(effective).In(&infrastructure)
		}
		return errs.ToAggregate()
	})
	return line, err
}
