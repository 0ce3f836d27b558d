// SPDX-License-Identifier: Apache-2.0

// Command stand-in answers the health checks of cilium-envoy, and nothing else.
package main

import (
	"log"
	"net/http"
	"time"
)

func main() {
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: "127.0.0.1:9878", ReadHeaderTimeout: time.Second}
	log.Fatal(server.ListenAndServe())
}
