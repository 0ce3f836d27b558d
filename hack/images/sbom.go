// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
)

// The parts of SPDX 2.3 that a list of Go modules needs: https://spdx.github.io/spdx-spec/v2.3.
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		DataLicense   string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID               string         `json:"SPDXID"`
		Name             string         `json:"name"`
		Version          string         `json:"versionInfo"`
		Purpose          string         `json:"primaryPackagePurpose"`
		Download         string         `json:"downloadLocation"`
		FilesAnalyzed    bool           `json:"filesAnalyzed"`
		LicenseConcluded string         `json:"licenseConcluded"`
		LicenseDeclared  string         `json:"licenseDeclared"`
		Copyright        string         `json:"copyrightText"`
		SourceInfo       string         `json:"sourceInfo,omitempty"`
		Checksums        []spdxChecksum `json:"checksums,omitempty"`
		References       []spdxExternal `json:"externalRefs"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxExternal struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

const (
	spdxDocumentID = "SPDXRef-DOCUMENT"
	spdxImageID    = "SPDXRef-Image"
	noAssertion    = "NOASSERTION"
)

// sbom lists the modules that the linker has recorded in the program, in SPDX's JSON.
func (i *image) sbom() ([]byte, error) {
	info, err := buildinfo.ReadFile(i.binary)
	if err != nil {
		return nil, err
	}
	digest, err := i.Digest()
	if err != nil {
		return nil, err
	}
	content := spdxPackage{
		ID: spdxImageID, Name: i.reference.Context().Name(), Version: i.reference.TagStr(), Purpose: "CONTAINER",
		Download: noAssertion, LicenseConcluded: noAssertion, LicenseDeclared: "Apache-2.0", Copyright: noAssertion,
		Checksums: []spdxChecksum{{strings.ToUpper(digest.Algorithm), digest.Hex}},
		References: purl(fmt.Sprintf("pkg:oci/%s@%s?arch=%s&repository_url=%s", i.program, url.QueryEscape(digest.String()), i.arch,
			url.QueryEscape(i.reference.Context().Name()))),
	}
	document := spdxDocument{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: spdxDocumentID,
		Name:      i.reference.String() + " for linux/" + i.arch,
		Namespace: "https://trellis.network/spdx/" + i.program + "-" + digest.Hex,
		// As the image's own times, it must not change when nothing else does.
		Creation:      spdxCreation{"1970-01-01T00:00:00Z", []string{"Tool: trellis-hack-images"}},
		Packages:      []spdxPackage{content},
		Relationships: []spdxRelationship{{spdxDocumentID, "DESCRIBES", spdxImageID}},
	}
	own := info.Main
	own.Version = i.reference.TagStr() // the linker calls it (devel)
	standard := debug.Module{Path: "stdlib", Version: strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")}
	modules := []*debug.Module{&own, &standard}
	for _, module := range info.Deps {
		modules = append(modules, cmp.Or(module.Replace, module))
	}
	for number, module := range modules {
		listed := spdxPackage{
			ID: fmt.Sprintf("SPDXRef-Module-%d", number), Name: module.Path, Version: module.Version, Purpose: "LIBRARY",
			Download: noAssertion, LicenseConcluded: noAssertion, LicenseDeclared: noAssertion, Copyright: noAssertion,
			References: purl("pkg:golang/" + module.Path + "@" + url.PathEscape(module.Version)),
		}
		if module.Sum != "" {
			listed.SourceInfo = "go.sum: " + module.Sum
		}
		document.Packages = append(document.Packages, listed)
		document.Relationships = append(document.Relationships, spdxRelationship{spdxImageID, "CONTAINS", listed.ID})
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err = encoder.Encode(document)
	return encoded.Bytes(), err
}

func purl(locator string) []spdxExternal {
	return []spdxExternal{{"PACKAGE-MANAGER", "purl", locator}}
}
