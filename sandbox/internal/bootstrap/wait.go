// SPDX-License-Identifier: Apache-2.0

// Package bootstrap creates nodes and Secrets in new clusters, and waits until
// the clusters work. It is a plain client of their API servers.
package bootstrap

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// interval is the time between two checks.
const interval = 50 * time.Millisecond

// requestTimeout bounds a single check.
const requestTimeout = 5 * time.Second

// Note receives what is still missing, as text.
type Note func(string)

// Connect returns a client of the cluster of a kubeconfig file.
func Connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	return kubernetes.NewForConfig(config)
}

// File waits until the file exists.
func File(ctx context.Context, path string, note Note) error {
	return poll(ctx, note, func(context.Context) string {
		_, err := os.Stat(path)
		return text(err)
	})
}

// APIServer waits until the API server reports that it is ready.
func APIServer(ctx context.Context, client kubernetes.Interface, note Note) error {
	return poll(ctx, note, func(ctx context.Context) string {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return text(err)
	})
}

// ServiceAccounts waits until the default service accounts of the namespaces
// kube-system and default exist.
func ServiceAccounts(ctx context.Context, client kubernetes.Interface, note Note) error {
	return poll(ctx, note, func(ctx context.Context) string {
		for _, namespace := range []string{metav1.NamespaceSystem, metav1.NamespaceDefault} {
			if _, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{}); err != nil {
				return "in " + namespace + ": " + err.Error()
			}
		}
		return ""
	})
}

// poll calls check until it returns "". Its error has what was missing last.
func poll(ctx context.Context, note Note, check func(context.Context) (missing string)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		missing := checkOnce(ctx, check)
		if missing == "" {
			return nil
		}
		note(missing)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the last check found: %s", context.Cause(ctx), missing)
		case <-ticker.C:
		}
	}
}

func checkOnce(ctx context.Context, check func(context.Context) string) string {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return check(ctx)
}

// text returns the first cause in an error of the API server, or else the
// error's message.
func text(err error) string {
	if err == nil {
		return ""
	}
	if status, ok := err.(apierrors.APIStatus); ok && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			return failedChecks(cause.Message)
		}
	}
	return err.Error()
}

// failedChecks returns the failed checks in an answer of /readyz, and any other
// text unchanged.
func failedChecks(answer string) string {
	var failed []string
	for line := range strings.Lines(answer) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			failed = append(failed, strings.TrimSpace(check))
		}
	}
	if len(failed) == 0 {
		return answer
	}
	return strings.Join(failed, ", ")
}
