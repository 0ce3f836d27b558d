// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Why a request got no answer, in words that follow the address of the server as the kubeconfig
// has it. The errors of Go quote the certificate, the address that a name has, the name server,
// and the debug data of HTTP/2, all of which may be a stranger's.
var (
	errBroken      = errors.New("the connection ended before a whole answer in HTTP arrived")
	errLate        = errors.New("it has not answered in time")
	errUnresolved  = errors.New("its name cannot be resolved")
	errRejected    = errors.New("it refuses the connection; correct the address and the port in the kubeconfig, or start the API server")
	errNoRoute     = errors.New("there is no route to it")
	errUnconnected = errors.New("no connection to it can be opened")
	errNoTLS       = errors.New("it does not answer in TLS; correct the address in the kubeconfig")
	errHandshake   = errors.New("no connection in TLS can be agreed on with it; correct the address, tls-server-name and the client certificate in the kubeconfig")
	errOtherName   = errors.New("its certificate is for other names or addresses; correct the address or tls-server-name in the kubeconfig, or issue a certificate for them")
	errAuthority   = errors.New("its certificate is not of the authority in the kubeconfig; correct the address or certificate-authority-data")
	errExpired     = errors.New("its certificate has expired or is not valid yet; renew it, or correct the clock")
	errCertificate = errors.New("its certificate is not valid")
)

// unanswered returns the error of a transport, or of the body of an answer, in fixed words. It
// wraps the original error, so that callers can tell its cause.
func unanswered(err error) error {
	if err == io.EOF || errors.Is(err, context.Canceled) {
		return err
	}
	found := &failure{reason: reason(err), cause: err}
	if failed := new(net.OpError); errors.As(err, &failed) && failed.Op == "proxyconnect" {
		found.where = "the proxy on the way cannot be used: "
	}
	return found
}

// failure is an error in other words.
type failure struct {
	where         string
	reason, cause error
}

// Error implements error.
func (f *failure) Error() string { return f.where + f.reason.Error() }

// Unwrap returns the reason, and the original error.
func (f *failure) Unwrap() []error { return []error{f.reason, f.cause} }

// reason returns one of the errors above, or one of this package that a transport passes on.
func reason(err error) error {
	for _, own := range []error{errDials, errNotConnectedTo} {
		if errors.Is(err, own) {
			return own
		}
	}
	invalid, operation := x509.CertificateInvalidError{}, &net.OpError{}
	switch text := err.Error(); {
	case errors.As(err, new(*net.DNSError)):
		return errUnresolved
	case isLate(err):
		return errLate
	case errors.Is(err, syscall.ECONNREFUSED):
		return errRejected
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return errNoRoute
	case errors.As(err, new(x509.HostnameError)):
		return errOtherName
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return errAuthority
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errExpired
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return errCertificate
	case errors.As(err, new(tls.RecordHeaderError)), strings.HasPrefix(text, "http: server gave HTTP response to HTTPS client"):
		return errNoTLS
	case strings.HasPrefix(text, "tls: "), strings.HasPrefix(text, "remote error: tls: "):
		return errHandshake
	case errors.As(err, &operation) && operation.Op == "dial":
		return errUnconnected
	}
	return errBroken
}

// isLate reports whether an error means that a time limit has passed. A transport does not see
// by which limit of an http.Client a request was cancelled.
func isLate(err error) bool {
	var network net.Error
	return errors.Is(err, errLate) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &network) && network.Timeout() || strings.HasSuffix(err.Error(), "net/http: request canceled")
}

// unread returns the error of reading a watch. One that ends in the usual ways is no failure.
func unread(err error) error {
	if err != io.EOF && utilnet.IsProbableEOF(err) {
		return io.ErrUnexpectedEOF
	}
	return unanswered(err)
}
