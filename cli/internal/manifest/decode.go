// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/internal/strictjson"
	"github.com/trellis-network/trellis/pipeline"
)

// Set has the objects of any number of inputs.
type Set struct {
	networks []network
	contexts []context
	problems []Problem
}

// network is a Network with its place.
type network struct {
	source Source
	object *extensionsv1alpha1.Network
}

// context is a Shoot with its place. A Shoot in a Cluster only describes the cluster of a
// Network.
type context struct {
	source    Source
	object    *corev1beta1.Shoot
	namespace string // the control-plane namespace
	inCluster bool
}

// shootFields is a Shoot without its methods, which decode leniently.
type shootFields corev1beta1.Shoot

// Add reads an input. It keeps problems for Subjects, and returns only errors of r.
func (s *Set) Add(name string, r io.Reader) error {
	documents, found, err := read(name, r)
	if err != nil {
		return err
	}
	s.problems = append(s.problems, found...)
	for _, one := range documents {
		s.add(one)
	}
	return nil
}

func (s *Set) add(one document) {
	value, isObject := one.value.(map[string]any)
	if !isObject {
		s.wrong(one.source, fmt.Errorf("is not an object: a manifest begins with apiVersion and kind"))
		return
	}
	apiVersion, _ := value["apiVersion"].(string)
	kind, _ := value["kind"].(string)
	switch what := apiVersion + " " + kind; {
	case what == "v1 List":
		s.addItems(one.source, value)
	case what == extensionsv1alpha1.GroupVersion.String()+" Network":
		s.addNetwork(one.source, value)
	case what == corev1beta1.GroupVersion.String()+" Shoot":
		s.addShoot(one.source, nil, value, "")
	case what == extensionsv1alpha1.GroupVersion.String()+" Cluster":
		s.addCluster(one.source, value)
	default:
		s.wrong(one.source, unknownKind(apiVersion, kind))
	}
}

func unknownKind(apiVersion, kind string) error {
	allowed := fmt.Sprintf("provide Networks and Clusters (%s), Shoots (%s), or a v1 List of them",
		extensionsv1alpha1.GroupVersion, corev1beta1.GroupVersion)
	if apiVersion == "" || kind == "" {
		return fmt.Errorf("has no apiVersion or no kind; %s", allowed)
	}
	return fmt.Errorf("%s of %s is not supported; %s", kind, apiVersion, allowed)
}

func (s *Set) addItems(source Source, list map[string]any) {
	items, isList := list["items"].([]any)
	if !isList && list["items"] != nil {
		s.wrong(source, fmt.Errorf("items must be a list of objects"))
		return
	}
	if source.Item > 0 {
		s.wrong(source, fmt.Errorf("is a List in a List"))
		return
	}
	for i, item := range items {
		source.Item = i + 1
		s.add(document{source, item})
	}
}

func (s *Set) addNetwork(source Source, value map[string]any) {
	// The API server ignores the status in a manifest. Only the state that Trellis keeps
	// in it is of use.
	status, _ := value["status"].(map[string]any)
	delete(value, "status")
	object := &extensionsv1alpha1.Network{}
	if !s.decode(source, nil, value, object, &object.ObjectMeta, strictjson.RefuseUnknown) {
		return
	}
	if state := status["state"]; state != nil {
		if raw, err := json.Marshal(state); err == nil {
			object.Status.State = &runtime.RawExtension{Raw: raw}
		}
	}
	s.networks = append(s.networks, network{source, object})
}

func (s *Set) addCluster(source Source, value map[string]any) {
	cluster := &extensionsv1alpha1.Cluster{}
	if !s.decode(source, nil, value, cluster, &cluster.ObjectMeta, strictjson.RefuseMisspelt) {
		return
	}
	path := field.NewPath("spec", "shoot")
	spec, _ := value["spec"].(map[string]any)
	switch shoot := spec["shoot"].(type) {
	case map[string]any:
		s.addShoot(source, path, shoot, cluster.Name)
	case nil:
		s.wrong(source, field.Required(path, "the Shoot that the Cluster is about"))
	default:
		s.wrong(source, field.TypeInvalid(path, shoot, "must be an object"))
	}
}

// addShoot adds the Shoot at path in a document. A Cluster gives the namespace of its
// control plane.
func (s *Set) addShoot(source Source, path *field.Path, value map[string]any, namespace string) {
	fields := &shootFields{}
	if !s.decode(source, path, value, fields, &fields.ObjectMeta, strictjson.RefuseMisspelt) {
		return
	}
	shoot := (*corev1beta1.Shoot)(fields)
	one := context{
		source: source, object: shoot, inCluster: namespace != "",
		namespace: cmp.Or(namespace, pipeline.ControlPlaneNamespace(shoot)),
	}
	if errs := checkNamespace(path, &one); len(errs) > 0 {
		for _, err := range errs {
			s.wrong(source, err)
		}
		return
	}
	s.contexts = append(s.contexts, one)
}

// checkNamespace validates the name of the control-plane namespace. The error is about the
// field of the Shoot from which the name comes, or about the name of the Cluster.
func checkNamespace(path *field.Path, c *context) field.ErrorList {
	at, value := path.Child("metadata", "name"), c.object.Name
	switch {
	case c.inCluster:
		at, value = field.NewPath("metadata", "name"), c.namespace
	case c.object.Status.TechnicalID != "":
		at, value = path.Child("status", "technicalID"), c.namespace
	}
	var errs field.ErrorList
	for _, message := range validation.IsDNS1123Label(c.namespace) {
		errs = append(errs, field.Invalid(at, fielderror.Abbreviate(value), fmt.Sprintf(
			"%s is no valid control-plane namespace: %s", fielderror.Abbreviate(c.namespace), message)))
	}
	return errs
}

// decode decodes the value at path into an object. It returns false, and notes all
// problems, if the value has another shape, no spec, or invalid metadata.
func (s *Set) decode(source Source, path *field.Path, value map[string]any, object any, meta *metav1.ObjectMeta, unknown strictjson.Unknown) bool {
	errs := into(path, value, object, unknown)
	if value["spec"] == nil {
		errs = append(errs, field.Required(path.Child("spec"), ""))
	}
	if len(errs) == 0 {
		errs = checkMeta(path.Child("metadata"), meta)
	}
	for _, err := range errs {
		s.wrong(source, err)
	}
	return len(errs) == 0
}

func (s *Set) wrong(source Source, err error) {
	s.problems = append(s.problems, Problem{source, err})
}

// into decodes a value into an object, or returns all errors.
func into(path *field.Path, value map[string]any, object any, unknown strictjson.Unknown) field.ErrorList {
	raw, err := json.Marshal(value)
	if err == nil {
		if errs := strictjson.Check(path, raw, reflect.TypeOf(object).Elem(), unknown); len(errs) > 0 {
			return errs
		}
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, object)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(path.Child("spec"), fielderror.AbbreviateJSON(raw), err.Error())}
	}
	return nil
}

// checkMeta validates names as an API server does.
func checkMeta(path *field.Path, meta *metav1.ObjectMeta) field.ErrorList {
	if meta.Name == "" && meta.GenerateName == "" {
		return field.ErrorList{field.Required(path.Child("name"), "")}
	}
	var errs field.ErrorList
	for _, message := range validation.IsDNS1123Subdomain(cmp.Or(meta.Name, meta.GenerateName+"x")) {
		errs = append(errs, field.Invalid(path.Child("name"), meta.Name, message))
	}
	if meta.Namespace == "" {
		return errs
	}
	for _, message := range validation.IsDNS1123Label(meta.Namespace) {
		errs = append(errs, field.Invalid(path.Child("namespace"), meta.Namespace, message))
	}
	return errs
}
