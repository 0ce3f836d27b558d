// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// aNode is a node with what a kubelet states of it.
func aNode(name string) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"topology.kubernetes.io/zone": "a", "worker.gardener.cloud/pool": "one"}},
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.1.0.0/24"}, PodCIDR: "10.1.0.0/24", ProviderID: "example:///" + name},
	}
	for _, kind := range []corev1.NodeConditionType{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready", "NetworkUnavailable"} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionFalse, Reason: "KubeletHasEnough", Message: "kubelet has sufficient resources available",
		})
	}
	for i := range 50 {
		image := fmt.Sprintf("registry.example.org/some/project/image-%d", i)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{image + "@sha256:0123456789012345678901234567890123456789012345678901234567890123", image + ":v1.2.3"}, SizeBytes: 1 << 26,
		})
	}
	node.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("16"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
	node.Status.Allocatable = node.Status.Capacity
	return node
}

// heap returns how much memory is in use, in kB.
func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / 1000
}

// How much memory a shoot of 100 nodes takes: its client and the watches of a network's
// managed objects, the nodes as they are cached, and the nodes as they would be without
// being stripped.
func BenchmarkMemoryOfAShoot(b *testing.B) {
	const shoots, nodes = 10, 100
	e := newEnv(b)
	for i := range nodes {
		node := aNode(fmt.Sprintf("%s-%d", e.namespace, i))
		whole := node.DeepCopy()
		e.Expect(e.shoot.Create(e.ctx, node)).To(Succeed())
		b.Cleanup(func() { e.Expect(e.shoot.Delete(context.Background(), node)).To(Succeed()) })
		before := node.DeepCopy()
		node.Status = whole.Status
		e.Expect(e.shoot.Status().Patch(e.ctx, node, client.MergeFrom(before))).To(Succeed())
	}
	for i := range 60 {
		e.Expect(e.shoot.Create(e.ctx, &corev1.ConfigMap{ObjectMeta: managed(e.namespace, fmt.Sprint(i))})).To(Succeed())
	}
	kinds := []schema.GroupVersionKind{configMaps, daemonSets}
	for _, kind := range []string{"ServiceAccount", "Service", "Secret"} {
		kinds = append(kinds, corev1.SchemeGroupVersion.WithKind(kind))
	}
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} {
		kinds = append(kinds, rbacv1.SchemeGroupVersion.WithKind(kind))
	}
	for b.Loop() {
		var connected []*Shoot
		var whole []*corev1.NodeList
		each := func(f func(*Shoot)) float64 {
			before := heap()
			for _, shoot := range connected {
				f(shoot)
			}
			return (heap() - before) / shoots
		}
		before := heap()
		for range shoots {
			namespace := e.seed.Namespace(b, "shoot--memory--")
			e.seed.PutAccess(b, namespace, e.shoot.Kubeconfig)
			shoot, err := e.clients.For(e.ctx, namespace)
			e.Expect(err).NotTo(HaveOccurred())
			e.Expect(shoot.Watch(e.ctx, kinds...)).To(Succeed())
			shoot.mapper.forget(0)
			connected = append(connected, shoot)
		}
		b.ReportMetric((heap()-before)/shoots, "kB-shoot")
		b.ReportMetric(each(func(shoot *Shoot) {
			e.Expect(shoot.Watch(e.ctx, Nodes.Kind)).To(Succeed())
			shoot.mapper.forget(0)
		}), "kB-nodes")
		b.ReportMetric(each(func(shoot *Shoot) {
			list := &corev1.NodeList{}
			e.Expect(shoot.Client.List(e.ctx, list)).To(Succeed())
			whole = append(whole, list)
		}), "kB-nodes-whole")
		runtime.KeepAlive(whole)
		for _, shoot := range connected {
			e.clients.Forget(shoot.Namespace)
		}
	}
}
