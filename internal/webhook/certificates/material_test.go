// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/x509"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/trellis-network/trellis/test/contract"
)

var (
	today = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hosts = []string{"trellis.garden", "10.0.0.1"}
)

// renew is renewed as a Keeper does it: through the Secret.
func renew(t rapid.TB, m *material, now time.Time) *material {
	t.Helper()
	next, err := m.renewed(now, hosts)
	if err != nil {
		t.Fatal(err)
	}
	data, err := next.encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// trusts returns an error unless a client that knows the authorities of told trusts what m serves.
func trusts(told, m *material, now time.Time) error {
	pool := x509.NewCertPool()
	for _, authority := range told.authorities {
		pool.AddCert(authority.Leaf)
	}
	for _, host := range hosts {
		if _, err := m.serving.Leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now, DNSName: host}); err != nil {
			return err
		}
	}
	return nil
}

// A client that got the bundle at any time trusts the serving certificate of a month later,
// and one that gets it today trusts the certificate of a replica that reads late.
func TestAuthoritiesOverlap(t *testing.T) {
	contract.Shows(t, "W2")
	g := NewWithT(t)
	told := map[int]*material{0: renew(t, &material{}, today)}
	most, authorities := 0, map[string]bool{}
	for d := 1; d < 4*365; d++ {
		now := today.Add(time.Duration(d) * day)
		next := renew(t, told[d-1], now)
		for _, ago := range []int{0, 1, 29} {
			if before := told[d-ago]; before != nil && ago > 0 {
				g.Expect(trusts(before, next, now)).To(Succeed(), "day %d, told %d days ago", d, ago)
			}
		}
		g.Expect(trusts(next, next, now)).To(Succeed(), "day %d", d)
		if late := told[d-1]; late.serving.Leaf.NotAfter.After(now) {
			g.Expect(trusts(next, late, now)).To(Succeed(), "day %d, served late", d)
		}
		most = max(most, len(next.authorities))
		for _, authority := range next.authorities {
			authorities[authority.Leaf.SerialNumber.String()] = true
		}
		told[d] = next
	}
	g.Expect(most).To(Equal(2))
	g.Expect(authorities).To(HaveLen(5))
}

// Renewed material need not be renewed again immediately, however late that was.
func TestRenewingComesToAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, now := &material{}, today
		for _, hours := range rapid.SliceOfN(rapid.IntRange(0, 500*24), 1, 8).Draw(t, "hours") {
			now = now.Add(time.Duration(hours) * time.Hour)
			m = renew(t, m, now)
			if err := trusts(m, m, now); err != nil {
				t.Fatal(err)
			}
			again, err := m.renewed(now, hosts)
			if err != nil || again != m {
				t.Fatalf("renewed twice in a moment: %v", err)
			}
		}
	})
}

func TestWhatIsServedIsRenewed(t *testing.T) {
	first := renew(t, &material{}, today)
	for name, test := range map[string]struct {
		after   time.Duration
		hosts   []string
		renewed bool
	}{
		"not at once":                 {0, hosts, false},
		"not early":                   {19 * day, hosts, false},
		"before it expires":           {21 * day, hosts, true},
		"after it has expired":        {40 * day, hosts, true},
		"for another host":            {0, []string{"trellis.example.com"}, true},
		"for an address more":         {0, append([]string{"10.0.0.2"}, hosts...), true},
		"not for a host less":         {0, hosts[:1], false},
		"when the clock was set back": {-time.Hour, hosts, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			next, err := first.renewed(today.Add(test.after), test.hosts)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(next != first).To(Equal(test.renewed))
			g.Expect(next.authorities).To(HaveLen(1), "the authority is the same")
		})
	}
}

// The content of a Secret that a user has edited is not served.
func TestWhatDoesNotFitTogetherIsNotRead(t *testing.T) {
	g := NewWithT(t)
	one, err := renew(t, &material{}, today).encode()
	g.Expect(err).NotTo(HaveOccurred())
	other, err := renew(t, &material{}, today).encode()
	g.Expect(err).NotTo(HaveOccurred())
	for name, change := range map[string]map[string][]byte{
		"nothing":                    {"ca.crt": nil, "ca.key": nil, "tls.crt": nil, "tls.key": nil},
		"no authority":               {"ca.crt": nil, "ca.key": nil},
		"nothing to serve":           {"tls.crt": nil, "tls.key": nil},
		"no key":                     {"tls.key": nil},
		"another's key":              {"tls.key": other["tls.key"]},
		"another's authority's key":  {"ca.key": other["ca.key"]},
		"a key that is none":         {"ca.key": []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")},
		"a certificate that is none": {"ca.crt": []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")},
		"more than one to serve":     {"tls.crt": append(one["tls.crt"], other["tls.crt"]...), "tls.key": append(one["tls.key"], other["tls.key"]...)},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range one {
				data[key] = value
			}
			for key, value := range change {
				data[key] = value
			}
			_, err := decode(data)
			NewWithT(t).Expect(err).To(HaveOccurred())
		})
	}
}
