package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"reflect"
	"time"
)

// tlsConfig is the configuration for the next connection to a host of the list; nil: no TLS.
func (o *Options) tlsConfig(ctx context.Context, host string) (*tls.Config, error) {
	if o.GetTLSConfig == nil {
		return o.TLS, nil
	}
	config, err := o.GetTLSConfig(ctx, host)
	if err == nil && config == nil {
		err = errors.New("GetTLSConfig returned no configuration") // nothing may be sent in the clear
	}
	return config, err
}

// tlsPeer is the server of one connection over TLS, and what it has asked for.
type tlsPeer struct {
	shown  string // the server, as users see it
	config *tls.Config

	// Written during the handshake, and not changed after: whether the server has asked for a
	// certificate, and which one the client has chosen, which is empty for none.
	asked  bool
	chosen *tls.Certificate
}

// newTLSPeer takes a copy of config, with the host's name, whatever address is dialed.
func newTLSPeer(shown, host string, config *tls.Config) *tlsPeer {
	p := &tlsPeer{shown: shown, config: config.Clone()}
	if p.config.ServerName == "" {
		p.config.ServerName = host
	}
	p.config.GetClientCertificate = func(want *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		chosen, err := chooseCertificate(config, want)
		p.asked, p.chosen = true, chosen
		return chosen, err
	}
	return p
}

// chooseCertificate chooses the client's certificate as crypto/tls does.
func chooseCertificate(config *tls.Config, want *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	if config.GetClientCertificate != nil {
		return config.GetClientCertificate(want)
	}
	for i := range config.Certificates {
		if want.SupportsCertificate(&config.Certificates[i]) == nil {
			return &config.Certificates[i], nil
		}
	}
	return new(tls.Certificate), nil
}

// begin encrypts a connection.
func (p *tlsPeer) begin(ctx context.Context, raw net.Conn) (net.Conn, error) {
	conn := tls.Client(raw, p.config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, p.explain(err, noTLS)
	}
	return &unanswered{Conn: conn, overTLS: true, explain: func(err error) error { return p.explain(err, refusal) }}, nil
}

// The meanings of a connection that the server closes: before the server has spoken TLS, and after.
const (
	noTLS   = "the server speaks no TLS at this port: connect to its secureClientPort"
	refusal = "the server may have no quorum, or refuse the client without saying why: its log has the reason"
)

// explain says what is wrong with the connection, and what to do. closed is what it means that
// the server closes the connection, if it has not asked for a certificate.
func (p *tlsPeer) explain(err error, closed string) error {
	advice := p.adviseOnServer(err)
	if alert, ok := alertOf(err); ok {
		advice = p.adviseOnAlert(alert)
	} else if advice == "" && isClosed(err) {
		advice = closed
		if p.asked {
			advice = refusal + "; " + p.adviseOnCertificate()
		}
	}
	if advice == "" {
		return fmt.Errorf("TLS with %s: %w", p.shown, err)
	}
	return fmt.Errorf("TLS with %s: %w (%s)", p.shown, err, advice)
}

// adviseOnServer says what to do about a server whose certificate the client refuses, or that
// speaks something else than TLS; "" if err has another reason.
func (p *tlsPeer) adviseOnServer(err error) string {
	var (
		plain   tls.RecordHeaderError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
	)
	switch {
	case errors.As(err, &plain):
		return noTLS
	case errors.As(err, &name):
		return "set ServerName to a name that the certificate has, or write that name in the list of servers"
	case errors.As(err, &unknown) && unknown.Cert != nil:
		return fmt.Sprintf("the server's certificate is signed by %q: add this authority to RootCAs, or give the server another certificate", unknown.Cert.Issuer)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of %q is valid from %s to %s: renew it, or set the clock of this machine",
			invalid.Cert.Subject, formatTime(invalid.Cert.NotBefore), formatTime(invalid.Cert.NotAfter))
	}
	return ""
}

func formatTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// The alerts by which a server tells why it refuses a client: RFC 8446, section 6, and older
// ones.
const (
	alertHandshakeFailure     = 40
	alertNoCertificate        = 41
	alertUnknownCA            = 48
	alertAccessDenied         = 49
	alertDecryptError         = 51
	alertProtocolVersion      = 70
	alertInsufficientSecurity = 71
	alertUnrecognizedName     = 112
	alertCertificateRequired  = 116
)

// alertOf is the alert of the server that ended a connection. crypto/tls does not export the
// type: a number below a net.OpError.
func alertOf(err error) (code uint64, ok bool) {
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Op != "remote error" {
		return 0, false
	}
	v := reflect.ValueOf(remote.Err)
	if v.Kind() != reflect.Uint8 {
		return 0, false
	}
	return v.Uint(), true
}

// adviseOnAlert says what to do about a server's alert.
func (p *tlsPeer) adviseOnAlert(code uint64) string {
	switch {
	case code >= alertNoCertificate && code <= alertUnknownCA, code == alertAccessDenied, code == alertCertificateRequired,
		code == alertHandshakeFailure && p.asked:
		return p.adviseOnCertificate()
	case code == alertHandshakeFailure, code == alertProtocolVersion, code == alertInsufficientSecurity:
		lowest, highest := uint16(tls.VersionTLS12), uint16(tls.VersionTLS13)
		if p.config.MinVersion != 0 {
			lowest = p.config.MinVersion
		}
		if p.config.MaxVersion != 0 {
			highest = p.config.MaxVersion
		}
		return fmt.Sprintf("client and server have no version or no cipher suite in common: the client offers %s to %s; "+
			"compare MinVersion, MaxVersion and CipherSuites with ssl.enabledProtocols and ssl.ciphersuites of the server",
			tls.VersionName(lowest), tls.VersionName(highest))
	case code == alertDecryptError && p.asked:
		return "the client's key may not belong to its certificate"
	case code == alertUnrecognizedName:
		return fmt.Sprintf("the server does not know the name %q: set ServerName", p.config.ServerName)
	}
	return "the log of the server has the reason"
}

// adviseOnCertificate says what to do about a server that refuses the client's certificate.
func (p *tlsPeer) adviseOnCertificate() string {
	const trust = "the server must trust the authority of the client's certificate"
	switch {
	case !p.asked || p.chosen == nil:
		return trust
	case len(p.chosen.Certificate) == 0 && len(p.config.Certificates) > 0:
		return "no certificate of the client is from an authority that the server trusts"
	case len(p.chosen.Certificate) == 0:
		return "the server asks for a certificate, and the client has none: set Certificates or GetClientCertificate"
	}
	leaf, err := x509.ParseCertificate(p.chosen.Certificate[0])
	if err != nil {
		return fmt.Sprintf("the client's certificate is invalid: %v", err)
	}
	now := time.Now()
	if p.config.Time != nil {
		now = p.config.Time()
	}
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return fmt.Sprintf("the client's certificate %q is valid from %s to %s: renew it, or set the clock of this machine",
			leaf.Subject, formatTime(leaf.NotBefore), formatTime(leaf.NotAfter))
	}
	return fmt.Sprintf("the client's certificate %q is signed by %q: %s", leaf.Subject, leaf.Issuer, trust)
}
