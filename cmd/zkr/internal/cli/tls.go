package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// encrypt sets TLS of the global flags; nothing without --tls.
func (a *App) encrypt(o *session.Options) error {
	g := &a.Flags
	if !g.TLS {
		return nil
	}
	o.TLS = &tls.Config{ServerName: g.TLSServerName, MinVersion: tls.VersionTLS12}
	if g.TLSCert != "" {
		pair, err := readPair(g.TLSCert, g.TLSKey)
		if err != nil {
			return exit.Usage("%s, %s: %w", a.flagSource("tls-cert"), a.flagSource("tls-key"), err)
		}
		pairs := &renewed[*tls.Certificate]{last: pair, read: func() (*tls.Certificate, error) { return readPair(g.TLSCert, g.TLSKey) }}
		o.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pairs.present(), nil }
	}
	if g.TLSCA == "" {
		return nil
	}
	pool, err := readAuthorities(g.TLSCA)
	if err != nil {
		return exit.Usage("%s: %w", a.flagSource("tls-ca"), err)
	}
	o.TLS.RootCAs = pool
	base, pools := o.TLS, &renewed[*x509.CertPool]{last: pool, read: func() (*x509.CertPool, error) { return readAuthorities(g.TLSCA) }}
	o.GetTLSConfig = func(context.Context, string) (*tls.Config, error) {
		config := base.Clone()
		config.RootCAs = pools.present()
		return config, nil
	}
	return nil
}

// readAuthorities reads a file of --tls-ca.
func readAuthorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", file)
	}
	return pool, nil
}

// readPair reads the files of --tls-cert and --tls-key. Errors name the files.
func readPair(cert, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	var unreadable *os.PathError
	switch {
	case errors.As(err, &unreadable): // names the file
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s must have a certificate in PEM form, and %s its private key: %w", cert, key, err)
	}
	return &pair, nil
}

// renewed is the content of files that are read for each connection, so that a process that
// runs for long has what the files have then. While the files cannot be read, or do not belong
// together because they are being replaced, the last content counts.
type renewed[T any] struct {
	read func() (T, error)

	mu   sync.Mutex // guards last
	last T
}

func (r *renewed[T]) present() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if content, err := r.read(); err == nil {
		r.last = content
	}
	return r.last
}
