package session

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// newCertificate makes a self-signed certificate for localhost.
func newCertificate(t *testing.T, serial int64) (tls.Certificate, *x509.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, cert
}

// tlsFront is a TLS endpoint in front of a server, like a local proxy. config may be nil.
func tlsFront(t *testing.T, backend string, config *tls.Config) (addr string, roots *x509.CertPool) {
	pair, cert := newCertificate(t, 1)
	roots = x509.NewCertPool()
	roots.AddCert(cert)
	if config == nil {
		config = &tls.Config{} //nolint:gosec // its MinVersion is set below
	}
	config.Certificates, config.MinVersion = []tls.Certificate{pair}, tls.VersionTLS13
	return serveTLS(t, backend, config), roots
}

// serveTLS serves TLS in front of a server, at a port of localhost.
func serveTLS(t *testing.T, backend string, config *tls.Config) (addr string) {
	ln, err := tls.Listen("tcp", "127.0.0.1:0", config)
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
	return net.JoinHostPort("localhost", port)
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
	t.Parallel() // it waits
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	addr, roots := tlsFront(t, srv.Addr(), nil)
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
		second, called := untilCalled(t, 2) // the first attempt has failed by then
		_, err := Connect(second, addr, &Options{TLS: config, Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			called()
			return new(net.Dialer).DialContext(ctx, network, address)
		}})
		return err
	}
	err = refused(addr, &tls.Config{})
	require.ErrorIs(t, err, ErrUnreachable)
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown, "the cause is named")
	require.ErrorIs(t, refused(srv.Addr(), &tls.Config{RootCAs: roots}), ErrUnreachable, "a server without TLS")
}

// Each connection shows the certificate that is valid then, and the session goes on.
func TestCertificateOfTheClientIsRenewed(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	seen := make(chan int64, 10)
	addr, roots := tlsFront(t, srv.Addr(), &tls.Config{ClientAuth: tls.RequireAnyClientCert, VerifyConnection: func(state tls.ConnectionState) error { //nolint:gosec // MinVersion is set by tlsFront
		seen <- state.PeerCertificates[0].SerialNumber.Int64()
		return nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var serial atomic.Int64
	serial.Store(100)
	c, err := Connect(ctx, addr, &Options{Timeout: 20 * time.Second, TLS: &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS13,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, _ := newCertificate(t, serial.Load())
			return &pair, nil
		},
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(ctx)) }()
	s, err := c.Session(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 100, <-seen)
	serial.Store(200)
	s.link.Drop(errors.New("a cable is pulled"))
	_, _, err = s.Exists(ctx, "/")
	require.NoError(t, err)
	require.EqualValues(t, 200, <-seen)
	require.NoError(t, s.Err())
}
