// SPDX-License-Identifier: Apache-2.0

// Package manifest decodes streams of YAML or JSON documents with Networks, Shoots, Clusters and
// NetworkConfigs, matches Networks with their Shoots, and reports each problem with its place. It
// accepts any input: it limits the size, the nesting, and the growth by aliases.
package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/internal/strictjson"
	"github.com/trellis-network/trellis/pipeline"
)

// Source is the place of a document in the input.
type Source struct {
	// File is the name of the input; Documents is how many there are in it.
	File      string
	Documents int
	// Document counts from 1. Empty documents do not count.
	Document int
	// Item counts from 1 in a List; it is 0 for a document that is no List.
	Item int
}

// Label names the document for users: with its file if wanted, and with its number if
// wanted, or if the file has several documents.
func (s Source) Label(file, number bool) string {
	var parts []string
	if file && s.File != "" {
		parts = append(parts, s.File)
	}
	if s.Document > 0 && (number || s.Documents > 1) {
		parts = append(parts, fmt.Sprintf("document %d", s.Document))
	}
	if s.Item > 0 {
		parts = append(parts, fmt.Sprintf("item %d", s.Item))
	}
	return strings.Join(parts, ": ")
}

// Problem is an error in an input, or in one of its documents.
type Problem struct {
	Source Source
	// Err is a *field.Error if it is about a field.
	Err error
}

// Set has the objects of any number of inputs.
type Set struct {
	// Configs are the network types of NetworkConfigs that stand alone, by apiVersion.
	Configs map[string]string
	// Infrastructures are the types of infrastructure that are known.
	Infrastructures []string
	// Cluster is the Shoot with the cluster that such NetworkConfigs are for. It has workers.
	Cluster *corev1beta1.Shoot
	// Workerless accepts Shoots without workers. Of their Networks only the type is stated.
	Workerless bool

	networks []*Subject // without Shoots
	configs  []*Subject // with the Shoot that is assumed
	shoots   []shoot
	problems []Problem
}

// shoot is a Shoot with its place. A Shoot in a Cluster only describes the cluster of a
// Network.
type shoot struct {
	source    Source
	object    *corev1beta1.Shoot
	namespace string // the control-plane namespace
	inCluster bool
}

// shootFields is a Shoot without its methods, which decode leniently.
type shootFields corev1beta1.Shoot

// Add adds the text of a named input. It keeps problems for Subjects.
func (s *Set) Add(name string, text []byte) {
	documents, err := decode(text)
	if err != nil {
		s.wrong(Source{File: name}, err)
	}
	for i, one := range documents {
		source := Source{File: name, Documents: len(documents), Document: i + 1}
		if one.err != nil {
			s.wrong(source, one.err)
		} else {
			s.add(source, one.value)
		}
	}
}

func (s *Set) add(source Source, document any) {
	value, isObject := document.(map[string]any)
	if !isObject {
		s.wrong(source, errors.New("is not an object: a manifest begins with apiVersion and kind"))
		return
	}
	apiVersion, _ := value["apiVersion"].(string)
	kind, _ := value["kind"].(string)
	switch what := apiVersion + " " + kind; {
	case kind == "NetworkConfig":
		s.addConfig(source, apiVersion, value)
	case what == "v1 List":
		s.addItems(source, value)
	case what == extensionsv1alpha1.GroupVersion.String()+" Network":
		s.addNetwork(source, value)
	case what == corev1beta1.GroupVersion.String()+" Shoot":
		s.addShoot(source, nil, value, "")
	case what == extensionsv1alpha1.GroupVersion.String()+" Cluster":
		s.addCluster(source, value)
	default:
		s.wrong(source, unknownKind(apiVersion, kind))
	}
}

func unknownKind(apiVersion, kind string) error {
	allowed := fmt.Sprintf("provide Networks and Clusters (%s), Shoots (%s), NetworkConfigs, or a v1 List of them",
		extensionsv1alpha1.GroupVersion, corev1beta1.GroupVersion)
	if apiVersion == "" || kind == "" {
		return fmt.Errorf("has no apiVersion or no kind; %s", allowed)
	}
	if inShoot, known := partsOfShoots[kind]; known && apiVersion == extensionsv1alpha1.GroupVersion.String() {
		return fmt.Errorf("%s of %s is no network; provide the Shoot, and write this spec.providerConfig into its %s", kind, apiVersion, inShoot)
	}
	return fmt.Errorf("%s of %s is not supported; %s", kind, apiVersion, allowed)
}

// partsOfShoots are the fields of a Shoot with what other extension objects of its cluster have.
var partsOfShoots = map[string]string{
	"Infrastructure": "spec.provider.infrastructureConfig",
	"ControlPlane":   "spec.provider.controlPlaneConfig",
}

func (s *Set) addItems(source Source, list map[string]any) {
	items, isList := list["items"].([]any)
	switch {
	case !isList && list["items"] != nil:
		s.wrong(source, errors.New("items must be a list of objects"))
	case source.Item > 0:
		s.wrong(source, errors.New("is a List in a List"))
	default:
		for i, item := range items {
			source.Item = i + 1
			s.add(source, item)
		}
	}
}

// addConfig adds a NetworkConfig that stands alone, as the one of the assumed Shoot.
func (s *Set) addConfig(source Source, apiVersion string, value map[string]any) {
	networkType, known := s.Configs[apiVersion]
	if !known {
		s.wrong(source, fielderror.NotSupported(field.NewPath("apiVersion"), apiVersion, slices.Sorted(maps.Keys(s.Configs))))
		return
	}
	raw, err := json.Marshal(value)
	if err != nil {
		s.wrong(source, err)
		return
	}
	shoot := s.Cluster.DeepCopy()
	networking := ptr.Deref(shoot.Spec.Networking, corev1beta1.Networking{})
	networking.Type, networking.ProviderConfig = &networkType, &runtime.RawExtension{Raw: raw}
	shoot.Spec.Networking = &networking
	network, err := pipeline.NetworkForShoot(shoot)
	if err != nil {
		s.wrong(source, err)
		return
	}
	s.configs = append(s.configs, &Subject{source, pipeline.AuthorConfig, network, shoot})
}

func (s *Set) addNetwork(source Source, value map[string]any) {
	// The API server ignores the status in a manifest. Of use is what the operator takes
	// into account of it.
	status, _ := value["status"].(map[string]any)
	delete(value, "status")
	object := &extensionsv1alpha1.Network{}
	if !s.decode(source, nil, value, object, &object.ObjectMeta, strictjson.RefuseUnknown) {
		return
	}
	object.Status.State = reported[*runtime.RawExtension](status["state"])
	object.Status.IPFamilies = reported[[]extensionsv1alpha1.IPFamily](status["ipFamilies"])
	object.Status.LastOperation = reported[*corev1beta1.LastOperation](status["lastOperation"])
	object.Status.ObservedGeneration = reported[int64](status["observedGeneration"])
	s.networks = append(s.networks, &Subject{Source: source, Author: pipeline.AuthorNetwork, Network: object})
}

// reported returns a value of a status, the zero value if it is absent or of another type.
func reported[T any](value any) (result T) {
	raw, err := json.Marshal(value)
	if err == nil && json.Unmarshal(raw, &result) == nil {
		return result
	}
	return *new(T)
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
	object := (*corev1beta1.Shoot)(fields)
	one := shoot{source, object, cmp.Or(namespace, pipeline.ControlPlaneNamespace(object)), namespace != ""}
	// The error is about the field from which the namespace comes.
	at, from := path.Child("metadata", "name"), object.Name
	switch {
	case one.inCluster:
		at, from = field.NewPath("metadata", "name"), one.namespace
	case object.Status.TechnicalID != "":
		at, from = path.Child("status", "technicalID"), one.namespace
	}
	messages := validation.IsDNS1123Label(one.namespace)
	for _, message := range messages {
		s.wrong(source, field.Invalid(at, fielderror.Abbreviate(from), fmt.Sprintf(
			"%s is no valid control-plane namespace: %s", fielderror.Abbreviate(one.namespace), message)))
	}
	if len(messages) == 0 {
		s.shoots = append(s.shoots, one)
	}
}

// decode decodes the value at path into an object. It returns false, and notes all
// problems, if the value has another shape, no spec, or invalid metadata.
func (s *Set) decode(source Source, path *field.Path, value map[string]any, object any, meta *metav1.ObjectMeta, unknown strictjson.Unknown) bool {
	raw, err := json.Marshal(value)
	var errs field.ErrorList
	if err == nil {
		errs = strictjson.Check(path, raw, reflect.TypeOf(object).Elem(), unknown)
	}
	if err == nil && len(errs) == 0 {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, object)
	}
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("spec"), fielderror.AbbreviateJSON(raw), err.Error()))
	}
	if value["spec"] == nil {
		errs = append(errs, field.Required(path.Child("spec"), ""))
	}
	if len(errs) == 0 {
		errs = checkMeta(path.Child("metadata"), *meta)
	}
	for _, err := range errs {
		s.listInfrastructures(err, path, value)
		s.wrong(source, err)
	}
	return len(errs) == 0
}

// listInfrastructures completes the error about an infrastructure that is no text with those that
// are known.
func (s *Set) listInfrastructures(err *field.Error, path *field.Path, value map[string]any) {
	for _, names := range [][]string{{"spec", "cloudProvider"}, {"spec", "provider", "type"}} {
		wrong, has, _ := unstructured.NestedFieldNoCopy(value, names...)
		if has && len(s.Infrastructures) > 0 && err.Field == path.Child(names[0], names[1:]...).String() {
			err.Detail += "; known are " + fielderror.Choices(s.Infrastructures, wordsIn(wrong)...)
		}
	}
}

// mostWords is how many words of a value are worth a guess at what was meant.
const mostWords = 20

// wordsIn returns the texts of a list, or the names and the texts of an object.
func wordsIn(value any) (words []string) {
	list, _ := value.([]any)
	object, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		list = append(list, name, object[name])
	}
	for _, each := range list[:min(len(list), mostWords)] {
		if word, isText := each.(string); isText {
			words = append(words, word)
		}
	}
	return words
}

// checkMeta validates metadata as an API server does once it has set name and namespace.
func checkMeta(path *field.Path, meta metav1.ObjectMeta) field.ErrorList {
	if meta.Name == "" && meta.GenerateName != "" {
		meta.Name = meta.GenerateName + "x"
	}
	meta.Namespace = cmp.Or(meta.Namespace, metav1.NamespaceDefault)
	return apivalidation.ValidateObjectMeta(&meta, true, apivalidation.NameIsDNSSubdomain, path)
}

func (s *Set) wrong(source Source, err error) {
	s.problems = append(s.problems, Problem{source, err})
}
