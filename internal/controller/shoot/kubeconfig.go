// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"cmp"
	"errors"
	"net"
	"net/url"

	"github.com/trellis-network/trellis/internal/shootclient"
)

// apiServerAddress returns "<host>:<port>" of the API server in a kubeconfig. It accepts
// the kubeconfigs that the components of the seed accept.
func apiServerAddress(kubeconfig []byte) (string, error) {
	config, err := shootclient.Config(kubeconfig)
	if err != nil {
		return "", err
	}
	return addressOf(config.Host)
}

func addressOf(server string) (string, error) {
	parsed, err := url.Parse(server)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return "", errors.New("the server of the kubeconfig's cluster must be a URL such as https://api.example.com:6443")
	}
	port := map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	return net.JoinHostPort(parsed.Hostname(), cmp.Or(parsed.Port(), port)), nil
}
