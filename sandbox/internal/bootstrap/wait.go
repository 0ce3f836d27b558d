// Package bootstrap does to fresh clusters what makes them a landscape, and
// waits until they work. It is a plain client of their API servers.
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

// interval is how often is looked whether something is ready.
const interval = 50 * time.Millisecond

// requestTimeout bounds a single look.
const requestTimeout = 5 * time.Second

// Note takes what is being waited for right now, in words.
type Note func(string)

// Connect makes a client of the cluster that a kubeconfig file is for.
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

// APIServer waits until the API server says that it is ready.
func APIServer(ctx context.Context, client kubernetes.Interface, note Note) error {
	return poll(ctx, note, func(ctx context.Context) string {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return text(err)
	})
}

// ServiceAccounts waits until the service account controller has worked through
// the namespaces that every cluster has.
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

// poll looks until what is missing is nothing. Its error says what was missing
// last.
func poll(ctx context.Context, note Note, look func(context.Context) (missing string)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		missing := lookOnce(ctx, look)
		if missing == "" {
			return nil
		}
		note(missing)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; at last: %s", context.Cause(ctx), missing)
		case <-ticker.C:
		}
	}
}

func lookOnce(ctx context.Context, look func(context.Context) string) string {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return look(ctx)
}

// text is the most telling of what an error of the API server says.
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

// failedChecks is, of what /readyz answers, the checks that fail; of any other
// text, all of it.
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
