// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// extensionFlags are the flags of Gardener's extensions, with what takes their place. Trellis has
// them as fields of its configuration, or needs none.
var extensionFlags = map[string]string{
	"autonomous-shoot-cluster":              "leave it out: the operator finds out itself whether Gardener runs",
	"config-file":                           "--config FILE names an OperatorConfiguration",
	"controllers":                           "leave it out: the operator runs all of its controllers",
	"disable-controllers":                   "leave it out: the operator runs all of its controllers",
	"disable-webhooks":                      "leave it out: the operator has only the webhooks that its configuration asks for",
	"extension-classes":                     "leave it out: the operator reconciles the Networks of shoots",
	"gardener-version":                      "leave it out: the operator works with all versions of Gardener",
	"health-bind-address":                   "write healthProbes.bindAddress into the file of --config",
	"healthcheck-max-concurrent-reconciles": "write controllers.health.concurrentSyncs into the file of --config",
	"heartbeat-namespace":                   "write heartbeat.namespace into the file of --config",
	"heartbeat-renew-interval-seconds":      "write heartbeat.renewInterval into the file of --config, with a unit: 30s",
	"ignore-operation-annotation":           "write controllers.network.ignoreOperationAnnotation into the file of --config",
	"leader-election":                       "write leaderElection.leaderElect into the file of --config",
	"leader-election-id":                    "write leaderElection.resourceName into the file of --config",
	"leader-election-namespace":             "write leaderElection.resourceNamespace into the file of --config",
	"log-format":                            "--zap-encoder is json or console",
	"log-level":                             "--zap-log-level is debug, info or error",
	"master":                                "--kubeconfig FILE names the seed",
	"max-concurrent-reconciles":             "write controllers.network.concurrentSyncs into the file of --config",
	"metrics-bind-address":                  "write metrics.bindAddress into the file of --config",
	"self-hosted-shoot-cluster":             "leave it out: the operator finds out itself whether Gardener runs",
	"webhook-config-cert-dir":               "leave it out: the operator keeps its certificates in a Secret",
	"webhook-config-mode":                   "write webhooks.url or webhooks.serviceName into the file of --config",
	"webhook-config-namespace":              "write webhooks.namespace into the file of --config",
	"webhook-config-owner-namespace":        "write webhooks.namespace into the file of --config",
	"webhook-config-server-host":            "write webhooks.bindAddress into the file of --config",
	"webhook-config-server-port":            "write webhooks.bindAddress into the file of --config",
	"webhook-config-service-port":           "leave it out: the Service of webhooks.serviceName has the port 443",
	"webhook-config-url":                    "write webhooks.url into the file of --config",
}

// explainFlag adds to an error about a flag of Gardener's extensions what takes its place.
func explainFlag(err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name, _, _ := strings.Cut(unknown.GetSpecifiedName(), "=")
	instead, known := extensionFlags[name]
	if !known {
		return err
	}
	return fmt.Errorf("%w, which is a flag of Gardener's extensions; %s", err, instead)
}
