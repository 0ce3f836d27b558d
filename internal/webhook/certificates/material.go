// SPDX-License-Identifier: Apache-2.0

package certificates

import (
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

// material is the content of the Secret: the authorities, oldest first, and the serving
// certificate.
type material struct {
	authorities []pair
	serving     *pair
}

// authorityKey is the key of the authorities' private keys in the Secret. The other keys
// are those of Kubernetes.
const authorityKey = "ca.key"

// decode reads a Secret's data.
func decode(data map[string][]byte) (*material, error) {
	authorities, err := decodePairs(data[corev1.ServiceAccountRootCAKey], data[authorityKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", corev1.ServiceAccountRootCAKey, authorityKey, err)
	}
	serving, err := decodePairs(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	if len(authorities) == 0 || len(serving) != 1 {
		return nil, errors.New("there must be an authority and exactly one serving certificate")
	}
	return &material{authorities, &serving[0]}, nil
}

// encode is the inverse of decode.
func (m *material) encode() (map[string][]byte, error) {
	trusted, trustedKeys, err := encodePairs(m.authorities...)
	if err != nil {
		return nil, err
	}
	served, servedKey, err := encodePairs(*m.serving)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		corev1.ServiceAccountRootCAKey: trusted, authorityKey: trustedKeys,
		corev1.TLSCertKey: served, corev1.TLSPrivateKeyKey: servedKey,
	}, nil
}

// bundle returns the certificates of the authorities.
func (m *material) bundle() ([]byte, error) {
	trusted, _, err := encodePairs(m.authorities...)
	return trusted, err
}

// renewed returns the material to use from now on, for a server with these hosts; m itself
// if nothing must change.
func (m *material) renewed(now time.Time, hosts []string) (*material, error) {
	next := &material{serving: m.serving}
	next.authorities = slices.DeleteFunc(slices.Clone(m.authorities), func(a pair) bool { return !a.certificate.NotAfter.After(now) })
	if n := len(next.authorities); n == 0 || next.authorities[n-1].certificate.NotAfter.Before(now.Add(announceBefore)) {
		fresh, err := newAuthority(now, authorityLifetime)
		if err != nil {
			return nil, err
		}
		next.authorities = append(next.authorities, fresh)
	}
	if signer := next.signer(now); !next.serves(signer, now, hosts) {
		serving, err := newServing(signer, hosts, now, servingLifetime)
		if err != nil {
			return nil, err
		}
		next.serving = &serving
	}
	same := func(a, b pair) bool { return a.certificate == b.certificate }
	if next.serving == m.serving && slices.EqualFunc(next.authorities, m.authorities, same) {
		return m, nil
	}
	return next, nil
}

// signer returns the newest authority that clients have had time to trust, or else the
// oldest.
func (m *material) signer(now time.Time) *pair {
	for i := len(m.authorities) - 1; i > 0; i-- {
		if !m.authorities[i].certificate.NotBefore.After(now.Add(-signAfter)) {
			return &m.authorities[i]
		}
	}
	return &m.authorities[0]
}

// serves reports whether the serving certificate can stay: signed by the right authority,
// for all hosts, and not about to expire before the authority does.
func (m *material) serves(signer *pair, now time.Time, hosts []string) bool {
	if m.serving == nil {
		return false
	}
	served := m.serving.certificate
	for _, host := range hosts {
		if served.VerifyHostname(host) != nil {
			return false
		}
	}
	lasts := served.NotAfter.After(now.Add(renewServing)) || served.NotAfter.Equal(signer.certificate.NotAfter)
	return lasts && served.NotAfter.After(now) && !served.NotBefore.After(now) && served.CheckSignatureFrom(signer.certificate) == nil
}
