// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"k8s.io/klog/v2"
)

// serveHealth answers /healthz with 200 as long as the process runs, as flannel's daemon does.
// It ends with ctx, and the daemon ends if it cannot go on.
func serveHealth(ctx context.Context, o *options, end context.CancelCauseFunc) error {
	if o.healthzPort == 0 {
		return nil
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(o.healthzIP, strconv.Itoa(o.healthzPort)))
	if err != nil {
		return fmt.Errorf("--healthz-port: %w", err)
	}
	klog.Infof("serving /healthz at %s", listener.Addr())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("flanneld is running\n"))
	})
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			end(fmt.Errorf("serve /healthz: %w", err))
		}
	}()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return nil
}
