// SPDX-License-Identifier: Apache-2.0

// Command coredns is CoreDNS with the plugins that a Corefile of a cluster names, and no
// others: the rest would bring in the libraries of clouds.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
)

func main() {
	// The plugins answer a query in this order.
	dnsserver.Directives = []string{"reload", "errors", "log", "health", "ready", "cache", "kubernetes", "loop", "forward"}
	coremain.Run()
}
