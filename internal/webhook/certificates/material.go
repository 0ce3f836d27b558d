// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const day = 24 * time.Hour

// An authority's successor enters the bundle two months before the authority expires, and
// signs serving certificates a month later. Until the authority expires, clients trust
// both. So the webhook of a cluster that was hibernated for a month still works.
const (
	authorityLifetime = 365 * day
	announceBefore    = 60 * day
	signAfter         = 30 * day
	servingLifetime   = 30 * day
	renewServing      = 10 * day
)

// The keys of the Secret: certificates and private keys of the authorities and of the
// server.
const (
	authorityCertificates = corev1.ServiceAccountRootCAKey
	authorityKeys         = "ca.key"
	servingCertificate    = corev1.TLSCertKey
	servingKey            = corev1.TLSPrivateKeyKey
)

// material is the content of the Secret: the authorities, oldest first, and the serving
// certificate.
type material struct {
	authorities []tls.Certificate
	serving     *tls.Certificate
	// bundle has the authorities' certificates as in the Secret; nil if never stored.
	bundle []byte
}

// decode reads a Secret's data.
func decode(data map[string][]byte) (*material, error) {
	authorities, err := decodePairs(data[authorityCertificates], data[authorityKeys])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", authorityCertificates, authorityKeys, err)
	}
	serving, err := decodePairs(data[servingCertificate], data[servingKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", servingCertificate, servingKey, err)
	}
	if len(authorities) == 0 || len(serving) != 1 {
		return nil, errors.New("there must be an authority and exactly one serving certificate")
	}
	return &material{authorities, &serving[0], data[authorityCertificates]}, nil
}

// encode is the inverse of decode.
func (m *material) encode() (map[string][]byte, error) {
	trusted, trustedKeys, err := encodePairs(m.authorities...)
	if err != nil {
		return nil, err
	}
	served, servedKey, err := encodePairs(*m.serving)
	return map[string][]byte{
		authorityCertificates: trusted, authorityKeys: trustedKeys, servingCertificate: served, servingKey: servedKey,
	}, err
}

// renewed returns the material to use from now on, for a server with these hosts; m itself
// if nothing must change.
func (m *material) renewed(now time.Time, hosts []string) (*material, error) {
	next := &material{serving: m.serving}
	next.authorities = slices.DeleteFunc(slices.Clone(m.authorities), func(a tls.Certificate) bool { return !a.Leaf.NotAfter.After(now) })
	changed := len(next.authorities) < len(m.authorities)
	if n := len(next.authorities); n == 0 || next.authorities[n-1].Leaf.NotAfter.Before(now.Add(announceBefore)) {
		fresh, err := newAuthority(now)
		if err != nil {
			return nil, err
		}
		next.authorities, changed = append(next.authorities, fresh), true
	}
	if signer := next.signer(now); !next.serves(signer, now, hosts) {
		serving, err := newServing(signer, hosts, now)
		if err != nil {
			return nil, err
		}
		next.serving, changed = &serving, true
	}
	if !changed {
		return m, nil
	}
	return next, nil
}

// signer returns the newest authority that clients have had time to trust, or else the
// oldest.
func (m *material) signer(now time.Time) *tls.Certificate {
	for i := len(m.authorities) - 1; i > 0; i-- {
		if !m.authorities[i].Leaf.NotBefore.After(now.Add(-signAfter)) {
			return &m.authorities[i]
		}
	}
	return &m.authorities[0]
}

// serves reports whether the serving certificate can stay: signed by the right authority,
// for all hosts, and not about to expire before the authority does.
func (m *material) serves(signer *tls.Certificate, now time.Time, hosts []string) bool {
	if m.serving == nil {
		return false
	}
	served := m.serving.Leaf
	for _, host := range hosts {
		if served.VerifyHostname(host) != nil {
			return false
		}
	}
	lasts := served.NotAfter.After(now.Add(renewServing)) || served.NotAfter.Equal(signer.Leaf.NotAfter)
	return lasts && served.NotAfter.After(now) && !served.NotBefore.After(now) && served.CheckSignatureFrom(signer.Leaf) == nil
}
