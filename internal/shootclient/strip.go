// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// maxCached is how many bytes one shoot may bring into the cache until the access to it is
// opened again, which is at most once in Options.IdleTimeout. Objects and their changes count
// as they are encoded, with objectOverhead for each, kinds as admitKinds counts them, and reports
// of probes as cost does. 5,000 nodes take 5 MB, and their changes as much again in five minutes;
// 1,000 reports take 3 MB, and their changes nothing. An object may have
// freeElements in its lists and maps; each further one counts elementOverhead more, since empty
// ones take a hundred bytes that do not show in two that are encoded.
const maxCached, objectOverhead, freeElements, elementOverhead = 20 << 20, 512, 20, 100

var errTooLarge = errors.New("has more than 20 MiB of watched objects and kinds; remove the label resources.gardener.cloud/managed-by from objects that belong to no ManagedResource, and delete CustomResourceDefinitions that nobody uses")

// admit strips an object for the cache. Once the shoot has brought too much, admit ends all
// its watches and returns an error.
func (s *Shoot) admit(object any) (any, error) {
	strip(object)
	if s.connection.cached.Add(int64(s.cost(object))); s.isFull() {
		s.stop()
		return nil, errTooLarge
	}
	return object, nil
}

// elements returns how many elements the lists and maps in a value have, at any depth.
func elements(value reflect.Value) (count int) {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		return elements(value.Elem())
	case reflect.Struct:
		if value.Type() == reflect.TypeFor[time.Time]() {
			return 0
		}
		for i := range value.NumField() {
			count += elements(value.Field(i))
		}
	case reflect.Slice:
		count = value.Len()
		for i := range value.Len() {
			count += elements(value.Index(i))
		}
	case reflect.Map:
		count = value.Len()
		for entry := value.MapRange(); entry.Next(); {
			count += elements(entry.Value())
		}
	}
	return count
}

func (s *Shoot) isFull() bool { return s.connection.cached.Load() > maxCached && !s.options.trusted }

// strip removes from an object what no controller reads from the cache.
func strip(object any) {
	if o, err := meta.Accessor(object); err == nil {
		o.SetManagedFields(nil)
		delete(o.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		o.Spec = appsv1.DaemonSetSpec{Selector: o.Spec.Selector, UpdateStrategy: o.Spec.UpdateStrategy, MinReadySeconds: o.Spec.MinReadySeconds}
	case *appsv1.Deployment:
		o.Spec = appsv1.DeploymentSpec{Replicas: o.Spec.Replicas, Selector: o.Spec.Selector}
	case *batchv1.Job:
		o.Spec = batchv1.JobSpec{}
	case *apiextensionsv1.CustomResourceDefinition:
		names := apiextensionsv1.CustomResourceDefinitionNames{Kind: o.Spec.Names.Kind}
		o.Spec = apiextensionsv1.CustomResourceDefinitionSpec{Group: o.Spec.Group, Names: names}
	case *corev1.Node:
		stripNode(o)
	case *connectivityv1alpha1.NodeConnectivity:
		stripReport(o)
	}
}
