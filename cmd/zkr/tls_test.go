//go:build unix

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// tlsFront speaks TLS in front of a server.
type tlsFront struct {
	net.Listener

	over chan struct{}

	mu      sync.Mutex // guards the fields below
	pair    tls.Certificate
	clients []net.Conn
}

// newTLSFront demands a certificate of the client if authorities has any.
func newTLSFront(t *testing.T, server string, pair tls.Certificate, authorities *x509.CertPool) *tlsFront {
	f := &tlsFront{pair: pair, over: make(chan struct{})}
	config := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return &f.pair, nil
	}}
	if authorities != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, authorities
	}
	var err error
	f.Listener, err = tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	// Waited for through over; ends with the listener.
	go func() {
		defer close(f.over)
		var all sync.WaitGroup
		defer all.Wait()
		for {
			c, err := f.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.clients = append(f.clients, c)
			f.mu.Unlock()
			// Waited for above; ends with the connection.
			all.Go(func() { relay(c, server) })
		}
	}()
	t.Cleanup(func() {
		_ = f.Close()
		f.renew(pair)
		<-f.over
	})
	return f
}

// renew replaces the certificate of the server, and cuts all connections.
func (f *tlsFront) renew(pair tls.Certificate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pair = pair
	for _, c := range f.clients {
		_ = c.Close()
	}
	f.clients = nil
}

// TestTLS: through a proxy that speaks TLS and requires a certificate.
func TestTLS(t *testing.T) {
	b := newBed(t)
	cert, key, pair := certificate(t, t.TempDir())
	pool := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(t, err)
	pool.AddCert(leaf)
	addr := newTLSFront(t, b.srv.Addr(), pair, pool).Addr().String()

	all := []string{"lock", "ls", "/a", "--tls", "--tls-ca", cert, "--tls-cert", cert, "--tls-key", key}
	start(t, command(addr, append(all, "--tls-server-name", "zookeeper.test")...)).ends(0)
	start(t, with(command(addr, "lock", "ls", "/a"), "ZKR_TLS=true", "ZKR_TLS_CA="+cert, "ZKR_TLS_CERT="+cert, "ZKR_TLS_KEY="+key, "ZKR_TLS_SERVER_NAME=zookeeper.test")).ends(0)
	z := start(t, command(addr, append(all, "--connect-timeout", "5s")...)).ends(exit.CodeUnavailable)
	assert.Contains(t, z.err.String(), "certificate", "127.0.0.1 is not its name")
	assert.Contains(t, z.err.String(), "ServerName is --tls-server-name")
	z = start(t, command(addr, "lock", "ls", "/a", "--connect-timeout", "1s")).ends(exit.CodeUnavailable)
	assert.Contains(t, z.err.String(), "if the port expects TLS, connect with TLS")
	assert.Contains(t, z.err.String(), "--tls connects with TLS")
}

// Each file that is of no use is named, before a connection is opened.
func TestFilesOfTLSAreRead(t *testing.T) {
	dir := t.TempDir()
	cert, key, _ := certificate(t, dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "other"), 0o700))
	_, otherKey, _ := certificate(t, filepath.Join(dir, "other"))
	garbage, absent := filepath.Join(dir, "garbage"), filepath.Join(dir, "absent")
	require.NoError(t, os.WriteFile(garbage, []byte("half a file"), 0o600))
	pair := func(cert, key string) []string { return []string{"--tls-cert", cert, "--tls-key", key} }
	for _, tt := range []struct {
		flags []string
		wants []string
	}{
		{[]string{"--tls-ca", absent}, []string{"--tls-ca: open " + absent}},
		{[]string{"--tls-ca", garbage}, []string{"--tls-ca: " + garbage + " has no certificate in PEM form"}},
		{[]string{"--tls-ca", key}, []string{"--tls-ca: " + key + " has no certificate in PEM form"}},
		{[]string{"--tls-ca", dir}, []string{"--tls-ca: read " + dir}},
		{pair(absent, key), []string{"--tls-cert, --tls-key: open " + absent}},
		{pair(cert, absent), []string{"--tls-cert, --tls-key: open " + absent}},
		{pair(garbage, key), []string{garbage + " must have a certificate in PEM form, and " + key + " its private key"}},
		{pair(cert, garbage), []string{cert + " must have", garbage + " its private key"}},
		{pair(key, cert), []string{key + " must have a certificate"}},
		{pair(cert, otherKey), []string{otherKey + " its private key", "does not match"}},
	} {
		z := inside(t, command("127.0.0.1:1", append([]string{"lock", "ls", "/a", "--tls"}, tt.flags...)...)).ends(exit.CodeUsage)
		for _, want := range tt.wants {
			assert.Contains(t, z.err.String(), want)
		}
	}
}

// A process that runs for long shows each server the certificate that is in its files then,
// and trusts the authorities that are.
func TestFilesOfTLSAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key, first := certificate(t, dir)
	a := &cli.App{
		Getenv: func(string) string { return "" },
		Flags:  cli.Globals{AuthScheme: "digest", TLS: true, TLSCA: cert, TLSCert: cert, TLSKey: key},
	}
	o, err := a.Options()
	require.NoError(t, err)
	requirePresent := func(pair tls.Certificate, why string) {
		t.Helper()
		config, err := o.GetTLSConfig(context.Background(), "zk1")
		require.NoError(t, err)
		shown, err := config.GetClientCertificate(nil)
		require.NoError(t, err)
		require.Equal(t, pair.Certificate, shown.Certificate, why)
		pool := x509.NewCertPool()
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		require.NoError(t, err)
		pool.AddCert(leaf)
		require.True(t, pool.Equal(config.RootCAs), why)
	}
	requirePresent(first, "at first")
	_, _, second := certificate(t, dir)
	require.NotEqual(t, first.Certificate, second.Certificate)
	requirePresent(second, "the files were replaced")
	for _, file := range []string{key, cert} {
		require.NoError(t, os.WriteFile(file, []byte("half a file"), 0o600))
		requirePresent(second, "the files are being replaced")
	}
}

// A lock stays held while the authority of the servers is replaced.
func TestLockStaysHeldWhileTheAuthorityIsReplaced(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	ca, _, first := certificate(t, dir)
	front := newTLSFront(t, b.srv.Addr(), first, nil)
	flags := []string{"--servers", front.Addr().String(), "--tls", "--tls-ca", ca, "--tls-server-name", "zookeeper.test"}
	z := b.start(locked("/l", flags, "sh", "-c", "echo in; exec sleep 1000")...)
	z.says("in")
	sessions := b.srv.Sessions()
	require.Len(t, sessions, 1)

	_, _, second := certificate(t, dir)
	front.renew(second)
	eventually(t, func() bool {
		front.mu.Lock()
		defer front.mu.Unlock()
		return len(front.clients) > 0
	}, "the command connects again")
	assert.Contains(t, b.run(append([]string{"lock", "ls", "/l"}, flags...)...).ends(0).out.String(), "holds")
	eventually(t, func() bool {
		now := b.srv.Sessions()
		return len(now) == 1 && now[0].ID == sessions[0].ID && now[0].Connected
	}, "the session is resumed; it said: %s", z.err)
	z.running()
}

// relay copies between c and a server until either end closes.
func relay(c net.Conn, to string) {
	defer func() { _ = c.Close() }()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	back := make(chan struct{})
	// Waited for through back; ends with the server's connection.
	go func() {
		_, _ = io.Copy(c, server)
		_ = c.Close()
		close(back)
	}()
	_, _ = io.Copy(server, c)
	_ = server.Close()
	<-back
}

// certificate makes a self-signed certificate for zookeeper.test.
func certificate(t *testing.T, dir string) (certFile, keyFile string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"zookeeper.test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	pair, err = tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	return certFile, keyFile, pair
}
