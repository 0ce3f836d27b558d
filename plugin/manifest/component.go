// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// Component returns a function that returns the objects of a file for one network:
// Constants, and copies of the file's workloads (Deployments, DaemonSets,
// StatefulSets, Jobs and CronJobs), which the caller may change. In the copies
//   - the image of a container is a reference; the file has its name in images.yaml,
//   - the pods of a DaemonSet are replaced as system.RollOut states,
//   - a system.ChecksumAnnotation for a ConfigMap of the file has its checksum, or what running
//     pods have for that.
//
// It panics as Constants does, and on an image that images.yaml does not have.
func Component(files fs.FS, file string, images plugin.Images) func(*plugin.Input) []plugin.Object {
	read := sync.OnceValue(func() []plugin.Object {
		objects := mustRead(files, file)
		setChecksums(objects)
		for i, object := range objects {
			if podsOf(object) == nil {
				objects[i] = plugin.NewConstant(object)
			}
		}
		return objects
	})
	return func(in *plugin.Input) []plugin.Object {
		objects := slices.Clone(read())
		for i, object := range objects {
			if podsOf(object) != nil {
				objects[i] = forNetwork(object, images, in)
			}
		}
		return objects
	}
}

// Workload returns the only object of a type among those of a Component.
func Workload[T plugin.Object](objects []plugin.Object) T {
	for _, object := range objects {
		if workload, ok := object.(T); ok {
			return workload
		}
	}
	panic(fmt.Sprintf("there is no %T", *new(T)))
}

// Container returns the container or init container of a pod with a name. It panics if the pod has
// none.
func Container(pod *corev1.PodSpec, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	panic(fmt.Sprintf("the pod has no container named %q", name))
}

// Variable returns the variable of a container's environment with a name. It panics if the
// container has none.
func Variable(container *corev1.Container, name string) *corev1.EnvVar {
	for i := range container.Env {
		if container.Env[i].Name == name {
			return &container.Env[i]
		}
	}
	panic(fmt.Sprintf("the container %s has no variable named %q", container.Name, name))
}

// podsOf returns the template of a workload's pods, nil for any other object.
func podsOf(object plugin.Object) *corev1.PodTemplateSpec {
	switch workload := object.(type) {
	case *appsv1.Deployment:
		return &workload.Spec.Template
	case *appsv1.DaemonSet:
		return &workload.Spec.Template
	case *appsv1.StatefulSet:
		return &workload.Spec.Template
	case *batchv1.Job:
		return &workload.Spec.Template
	case *batchv1.CronJob:
		return &workload.Spec.JobTemplate.Spec.Template
	}
	return nil
}

func setChecksums(objects []plugin.Object) {
	for _, object := range objects {
		config, ok := object.(*corev1.ConfigMap)
		if !ok {
			continue
		}
		for _, workload := range objects {
			pods, annotation := podsOf(workload), system.ChecksumAnnotation(config.Name)
			if pods == nil {
				continue
			}
			if _, wanted := pods.Annotations[annotation]; wanted {
				pods.Annotations[annotation] = system.Checksum(config)
			}
		}
	}
}

func forNetwork(object plugin.Object, images plugin.Images, in *plugin.Input) plugin.Object {
	workload := object.DeepCopyObject().(plugin.Object)
	if agents, ok := workload.(*appsv1.DaemonSet); ok {
		agents.Spec.UpdateStrategy = system.RollOut(in)
	}
	template := podsOf(workload)
	for annotation, value := range template.Annotations {
		if strings.HasPrefix(annotation, system.ChecksumAnnotation("")) {
			template.Annotations[annotation] = in.StartedWith(value)
		}
	}
	pod := &template.Spec
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			containers[i].Image = images.For(containers[i].Image, in)
		}
	}
	return workload
}

// Keep removes from a pod the containers and volumes whose names stand for false, and the
// mounts of these volumes. All others stay. It panics on a name that the pod does not have.
func Keep(pod *corev1.PodSpec, parts map[string]bool) {
	unknown := maps.Clone(parts)
	isAbsent := func(name string) bool {
		delete(unknown, name)
		there, listed := parts[name]
		return listed && !there
	}
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return isAbsent(v.Name) })
	for _, containers := range []*[]corev1.Container{&pod.InitContainers, &pod.Containers} {
		*containers = slices.DeleteFunc(*containers, func(c corev1.Container) bool { return isAbsent(c.Name) })
	}
	if len(unknown) > 0 {
		panic(fmt.Sprintf("the pod has neither containers nor volumes named %q", slices.Sorted(maps.Keys(unknown))))
	}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			container := &containers[i]
			container.VolumeMounts = slices.DeleteFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return isAbsent(m.Name) })
		}
	}
}
