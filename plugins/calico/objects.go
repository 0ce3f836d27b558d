// SPDX-License-Identifier: Apache-2.0

package calico

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// namespace is where everything is that has a namespace.
const namespace = metav1.NamespaceSystem

// datastore is where Calico keeps its state.
const datastore = "kubernetes"

// API groups in which Calico's components have rights.
const (
	coreGroup   = ""
	calicoGroup = "crd.projectcalico.org"
)
