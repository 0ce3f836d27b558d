// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// BenchmarkNetwork measures the default network.
func BenchmarkNetwork(b *testing.B) { compare(b, newSubject(b, 0)) }

// BenchmarkNetwork350kB measures the network with CRDs as long as Calico's own, which
// describe every field. All objects together are 350 kB of YAML, for Trellis and for
// Helm.
func BenchmarkNetwork350kB(b *testing.B) { compare(b, newSubject(b, 350_000)) }

// compare measures Trellis and then Helm. With Helm's result it reports how many times
// more time and processor time Helm takes.
func compare(b *testing.B, s *subject) {
	var trellis, helm cost
	b.Run("trellis", func(b *testing.B) {
		trellis = measure(b, func() []byte { return s.buildAndSerialize(b) })
	})
	chart := s.chart(b)
	b.Run("helm", func(b *testing.B) {
		helm = measure(b, func() []byte { return chart.render(b) })
		b.ReportMetric(float64(len(s.objects(b))), "objects")
		if trellis.time > 0 {
			b.ReportMetric(helm.time/trellis.time, "times-trellis")
			b.ReportMetric(helm.processor/trellis.processor, "times-trellis-cpu")
		}
	})
}

// cost is the time of an operation, in nanoseconds. The processor time includes the
// garbage collector, which runs in parallel, and depends less on the machine's load.
type cost struct{ time, processor float64 }

func measure(b *testing.B, operation func() []byte) cost {
	b.ReportAllocs()
	var written []byte
	before := processorTime(b)
	for b.Loop() {
		written = operation()
	}
	processor := float64(processorTime(b)-before) / float64(b.N)
	b.ReportMetric(float64(len(written)), "bytes-written")
	b.ReportMetric(processor, "cpu-ns/op")
	return cost{time: float64(b.Elapsed().Nanoseconds()) / float64(b.N), processor: processor}
}

// processorTime returns the processor time that this process has used.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkStage measures the stages of Trellis. The name of the Secret is a hash of its
// content. It is not part of the comparison, since a user of Helm would hash the result
// too. Trellis does not compress the content. Gardener's resource manager accepts both.
func BenchmarkStage(b *testing.B) {
	s := newSubject(b, 0)
	objects := s.objects(b)
	data := s.buildAndSerialize(b)
	for name, stage := range map[string]func() error{
		"Build":      func() error { return s.build().Errors.ToAggregate() },
		"Documents":  func() error { _, err := pipeline.Documents(objects); return err },
		"SecretName": func() error { _ = (&bundle.Bundle{Name: "network", Data: data}).SecretName(); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := stage(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParallel builds on all cores at once.
func BenchmarkParallel(b *testing.B) {
	s := newSubject(b, 0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := pipeline.Documents(s.build().Objects.For(plugin.Shoot)); err != nil {
				b.Error(err)
			}
		}
	})
}

// The comparison is only valid if Trellis and Helm render the same objects.
func TestTheChartRendersTheSameObjects(t *testing.T) {
	for name, size := range map[string]int{"as it is": 0, "350 kB": 350_000} {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t, size)
			rendered := s.chart(t).render(t)
			if size > 0 && (len(rendered) < size*9/10 || len(rendered) > size*11/10) {
				t.Errorf("the chart renders to %d bytes instead of %d", len(rendered), size)
			}
			expectSame(t, s.buildAndSerialize(t), rendered)
		})
	}
}

// constants counts the objects that are plugin.Constants, which are encoded only once.
func constants(objects []plugin.Object) int {
	count := 0
	for _, object := range objects {
		if _, ok := object.(*plugin.Constant); ok {
			count++
		}
	}
	return count
}

func TestMostObjectsAreConstants(t *testing.T) {
	objects := newSubject(t, 0).objects(t)
	if count := constants(objects); count < len(objects)/2 {
		t.Errorf("only %d of %d objects are constants", count, len(objects))
	}
}
