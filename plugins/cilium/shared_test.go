// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"bytes"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// objects returns a network's objects as the pipeline hands them out.
func objects(t *testing.T, config string, options ...option) []plugin.Object {
	t.Helper()
	result := newPipeline().Build(requestFor(t, config, options...))
	if len(result.Errors) > 0 {
		t.Fatal(result.Errors.ToAggregate())
	}
	return slices.Concat(result.Objects.Shoot, result.Objects.ShootLater, result.Objects.Seed)
}

func documents(t *testing.T, list []plugin.Object) []byte {
	t.Helper()
	raw, err := pipeline.Documents(list)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTheSameNetworkGivesTheSameBytes(t *testing.T) {
	for _, each := range stock {
		t.Run(each.name, func(t *testing.T) {
			want := documents(t, objects(t, each.config, each.options...))
			for range 5 {
				expectSame(t, documents(t, objects(t, each.config, each.options...)), want)
			}
		})
	}
}

func TestWhatNeverChangesIsMadeOnce(t *testing.T) {
	g := NewWithT(t)
	first, second := objects(t, everywhere, everyFact...), objects(t, everywhere, everyFact...)
	var own []string
	for i, object := range first {
		if _, constant := object.(*plugin.Constant); constant {
			g.Expect(second[i]).To(BeIdenticalTo(object), object.GetName())
			continue
		}
		g.Expect(second[i]).NotTo(BeIdenticalTo(object), object.GetName())
		own = append(own, shown(object))
	}
	g.Expect(own).To(ConsistOf(slices.Concat([]string{
		"ConfigMap cilium-config", "DaemonSet cilium", "DaemonSet cilium-envoy", "Deployment cilium-operator",
		"Deployment hubble-relay", "Deployment hubble-ui", "Job hubble-generate-certs", "CronJob hubble-generate-certs",
	}, inSeed)))
}

// Whoever changes what is a network's own does not change what others get.
func TestWhatBelongsToANetworkIsNotShared(t *testing.T) {
	standalone := func(f *plugin.Facts) { f.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"} }
	all := append(slices.Clone(everyFact), standalone)
	want := documents(t, objects(t, everywhere, all...))
	for _, object := range objects(t, everywhere, all...) {
		if _, constant := object.(*plugin.Constant); constant {
			continue
		}
		spoil(object.GetLabels())
		spoil(object.GetAnnotations())
		switch workload := object.(type) {
		case *appsv1.DaemonSet:
			spoil(workload.Spec.Template.Labels)
			spoil(workload.Spec.Selector.MatchLabels)
			workload.Spec.Template.Spec.Containers[0].Env[0].Value = "changed"
			workload.Spec.Template.Spec.Containers[0].SecurityContext.Capabilities.Add[0] = "CHANGED"
		case *appsv1.Deployment:
			spoil(workload.Spec.Template.Labels)
			spoil(workload.Spec.Selector.MatchLabels)
			workload.Spec.Template.Spec.Volumes[0].Name = "changed"
		}
	}
	expectSame(t, documents(t, objects(t, everywhere, all...)), want)
}

// expectSame shows only the documents that differ: all of them are long.
func expectSame(t *testing.T, got, want []byte) {
	t.Helper()
	now, before := bytes.Split(got, []byte("\n---\n")), bytes.Split(want, []byte("\n---\n"))
	if len(now) != len(before) {
		t.Fatalf("there are %d objects and were %d", len(now), len(before))
	}
	for i := range before {
		if !bytes.Equal(now[i], before[i]) {
			t.Errorf("it is\n%s\nand was\n%s", now[i], before[i])
		}
	}
}

func spoil(labels map[string]string) {
	if labels != nil {
		labels["changed"] = "yes"
	}
}
