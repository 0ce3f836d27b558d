// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Get writes what a URL answers to a request on a fresh connection. It returns an error if
// the answer is not complete within the timeout, or its status is not 200.
func Get(ctx context.Context, url string, timeout time.Duration, to io.Writer) error {
	return get(ctx, &http.Transport{DisableKeepAlives: true}, url, timeout, to)
}

func get(ctx context.Context, by http.RoundTripper, url string, timeout time.Duration, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := by.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	if _, err := io.Copy(to, response.Body); err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	return nil
}
