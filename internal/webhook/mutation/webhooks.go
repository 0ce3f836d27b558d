// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"

	"github.com/trellis-network/trellis/internal/webhook"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Webhooks are those of the plugins that are Mutators. Nil are none.
type Webhooks struct {
	server *webhook.Server
	// types are the network types that have one.
	types []string
}

// Add adds the webhooks of a pipeline's plugins to a server.
func Add(server *webhook.Server, p *pipeline.Pipeline) *Webhooks {
	w := &Webhooks{server: server}
	for _, networkType := range p.Types() {
		if found, _ := p.Plugin(networkType); found.IsMutator() {
			server.Handle(Path(networkType), Handler(found))
			w.types = append(w.types, networkType)
		}
	}
	return w
}

// ForShoots returns the webhook for shoots with networks of a type; nil if the type has none, or if
// the API servers of shoots do not reach the server.
func (w *Webhooks) ForShoots(networkType string) *plugin.Webhook {
	if w == nil || !slices.Contains(w.types, networkType) {
		return nil
	}
	address := w.server.URL(Path(networkType))
	if address == "" {
		return nil
	}
	return &plugin.Webhook{URL: address, CABundle: w.server.CABundle()}
}
