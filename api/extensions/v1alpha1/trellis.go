// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// APIServerAnnotation on a Cluster is the address, host:port, at which the
// shoot's pods reach their API server before Services work. It is only there
// without Gardener, whose webhooks tell the pods otherwise.
const APIServerAnnotation = "trellis.network/api-server"
