package cli

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// tlsConfig makes the configuration of TLS of the global flags; nil without --tls.
func (a *App) tlsConfig() (*tls.Config, error) {
	g := &a.Flags
	if !g.TLS {
		return nil, nil
	}
	c := &tls.Config{ServerName: g.TLSServerName, MinVersion: tls.VersionTLS12}
	if g.TLSCA != "" {
		pem, err := os.ReadFile(g.TLSCA)
		if err != nil {
			return nil, exit.Usage("%s: %w", a.flagSource("tls-ca"), err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, exit.Usage("%s: %s has no certificate in PEM form", a.flagSource("tls-ca"), g.TLSCA)
		}
	}
	if g.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(g.TLSCert, g.TLSKey)
		if err != nil {
			return nil, exit.Usage("%s, %s: %w", a.flagSource("tls-cert"), a.flagSource("tls-key"), err)
		}
		c.GetClientCertificate = renewed(g.TLSCert, g.TLSKey, &pair)
	}
	return c, nil
}

// renewed reads the files of the client's certificate for each connection, so that a process
// that runs for long has the certificate renewed. While the files cannot be read, or do not
// belong together because they are being replaced, the last pair counts, first is the first.
func renewed(cert, key string, first *tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	var mu sync.Mutex // guards last
	last := first
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if pair, err := tls.LoadX509KeyPair(cert, key); err == nil {
			last = &pair
		}
		return last, nil
	}
}
