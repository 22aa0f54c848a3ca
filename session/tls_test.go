package session

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// tlsFront is a TLS endpoint in front of a server, like a local proxy.
func tlsFront(t *testing.T, backend string) (addr string, roots *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots = x509.NewCertPool()
	roots.AddCert(cert)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13,
	})
	require.NoError(t, err)
	var all sync.WaitGroup
	// Waited for by the clean-up; ends with the listener.
	all.Go(func() {
		for {
			front, err := ln.Accept()
			if err != nil {
				return
			}
			// Waited for by the clean-up; ends with either connection.
			all.Go(func() { join2(front, backend) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, ln.Close())
		all.Wait()
	})
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	return net.JoinHostPort("localhost", port), roots
}

// join2 copies both ways until one side closes.
func join2(front net.Conn, backend string) {
	back, err := net.Dial("tcp", backend)
	if err != nil {
		_ = front.Close()
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{front, back}, {back, front}} {
		// Waited for below; ends when either connection closes.
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
			_ = pair[1].Close()
		})
	}
	both.Wait()
}

// The certificate has the name of the list of servers only, not the addresses that are dialed.
func TestTLSChecksTheServersNameAndCarriesASession(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	addr, roots := tlsFront(t, srv.Addr())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	c, err := Connect(ctx, addr, &Options{TLS: &tls.Config{RootCAs: roots}})
	require.NoError(t, err)
	s, err := c.Session(ctx)
	require.NoError(t, err)
	_, err = s.Create(ctx, "/over-tls", []byte("x"), Ephemeral, nil)
	require.NoError(t, err)
	_, err = srv.Get("/over-tls")
	require.NoError(t, err)
	require.NoError(t, c.Close(ctx))

	refused := func(addr string, config *tls.Config) error {
		short, stop := context.WithTimeout(ctx, 2*time.Second)
		defer stop()
		_, err := Connect(short, addr, &Options{TLS: config})
		return err
	}
	err = refused(addr, &tls.Config{})
	require.ErrorIs(t, err, ErrUnreachable)
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown, "the cause is named")
	require.ErrorIs(t, refused(srv.Addr(), &tls.Config{RootCAs: roots}), ErrUnreachable, "a server without TLS")
}
