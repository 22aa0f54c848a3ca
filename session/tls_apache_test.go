package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// writePEM writes certificates, each with its private key if it has one, to a file.
func writePEM(t *testing.T, file string, pairs ...tls.Certificate) {
	var text []byte
	for _, pair := range pairs {
		if pair.PrivateKey != nil {
			key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
			require.NoError(t, err)
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})...)
	}
	require.NoError(t, os.WriteFile(file, text, 0o600))
}

// startSecureApache starts a server that speaks this version of TLS at its secure port, demands
// certificates of ca there, and has the name zk.test.
func startSecureApache(t *testing.T, ca *authority, version string) (secure, plain string) {
	dir := t.TempDir()
	keys, trusted := filepath.Join(dir, "server.pem"), filepath.Join(dir, "trusted.pem")
	writePEM(t, keys, ca.issue(t, "zk.test", -time.Hour, time.Hour))
	writePEM(t, trusted, tls.Certificate{Certificate: [][]byte{ca.cert.Raw}})
	// An address of its own, as on other addresses another process may take the port.
	ln, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.1:0", 1+rand.IntN(254), rand.IntN(256)))
	require.NoError(t, err)
	address := ln.Addr().(*net.TCPAddr)
	require.NoError(t, ln.Close())
	config := map[string]string{
		"secureClientPort": strconv.Itoa(address.Port), "secureClientPortAddress": address.IP.String(),
		"serverCnxnFactory":     "org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.keyStore.location": keys, "ssl.trustStore.location": trusted, "ssl.clientAuth": "need",
		"ssl.protocol": version, "ssl.enabledProtocols": version,
		"authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
	}
	if version == "TLSv1.3" {
		config["ssl.ciphersuites"] = "TLS_AES_128_GCM_SHA256" // 3.8 has none of this version by default
	}
	cluster := apache.Require(t, &apache.Options{Mode: apache.Jars, Own: true, Config: config})
	return address.String(), cluster.Connect()
}

func TestTLSOnApache(t *testing.T) {
	ca := newAuthority(t, "ca of the ensemble")
	for name, clients := range map[string]func(*tls.Config){
		"TLSv1.2": func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 },
		"TLSv1.3": func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 },
	} {
		t.Run(name, func(t *testing.T) {
			secure, plain := startSecureApache(t, ca, name)
			heldOverARenewal(t, ca, secure) // first: the server opens its secure port last
			failuresOnApache(t, ca, secure, plain, clients)
		})
	}
}

// failuresOnApache meets the commonest failures; others makes a configuration one of another
// version.
func failuresOnApache(t *testing.T, ca *authority, secure, plain string, others func(*tls.Config)) {
	const hour = time.Hour
	app, stranger := ca.issue(t, "app", -hour, hour), newAuthority(t, "another ca")
	trusts := func(pair tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ca.pool(), ServerName: "zk.test", GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }} //nolint:gosec // the default is 1.2
	}
	with := func(change func(c *tls.Config)) *tls.Config { c := trusts(app); change(c); return c }
	for name, tt := range map[string]struct {
		server string
		config *tls.Config
		wants  []string
	}{
		"server without TLS":     {plain, trusts(app), []string{"speaks no TLS at this port"}},
		"client without TLS":     {secure, nil, []string{"if the port expects TLS, connect with TLS"}},
		"unknown authority":      {secure, with(func(c *tls.Config) { c.RootCAs = stranger.pool() }), []string{`signed by "CN=ca of the ensemble"`, "RootCAs"}},
		"wrong name":             {secure, with(func(c *tls.Config) { c.ServerName = "" }), []string{"ServerName"}},
		"no certificate":         {secure, with(func(c *tls.Config) { c.GetClientCertificate = nil }), []string{"the client has none"}},
		"authority of no server": {secure, trusts(stranger.issue(t, "app", -hour, hour)), []string{`signed by "CN=another ca"`, "the server must trust"}},
		"expired certificate":    {secure, trusts(ca.issue(t, "app", -2*hour, -hour)), []string{`"CN=app" is valid from`, "renew it"}},
		"version":                {secure, with(others), []string{"no version or no cipher suite in common"}},
	} {
		failing, called := untilCalled(t, 2)
		_, err := Connect(failing, tt.server, &Options{TLS: tt.config, Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			called()
			return new(net.Dialer).DialContext(ctx, network, address)
		}})
		require.ErrorIs(t, err, ErrUnreachable, name)
		for _, want := range append(tt.wants, tt.server) {
			require.ErrorContains(t, err, want, name)
		}
	}
}

// heldOverARenewal holds something while the client's certificate is replaced.
func heldOverARenewal(t *testing.T, ca *authority, secure string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var present, shown atomic.Pointer[tls.Certificate]
	first, second := ca.issue(t, "app", -time.Hour, time.Hour), ca.issue(t, "app", -time.Hour, time.Hour)
	present.Store(&first)
	client, err := Connect(ctx, secure, &Options{Timeout: 20 * time.Second, ACL: CreatorACL(), TLS: &tls.Config{ //nolint:gosec // the default is 1.2
		RootCAs: ca.pool(), ServerName: "zk.test",
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			shown.Store(present.Load())
			return present.Load(), nil
		},
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close(ctx)) }()
	s, err := client.Session(ctx)
	require.NoError(t, err)
	require.NoError(t, s.EnsurePath(ctx, "/w", Persistent, nil))
	held := heldOn(ctx, t, s)
	acl, _, err := s.ACL(ctx, held.Path())
	require.NoError(t, err)
	require.Equal(t, []ACL{{Perms: PermAll, Scheme: "x509", ID: "CN=app"}}, acl)
	require.Same(t, &first, shown.Load())

	present.Store(&second)
	s.link.Drop(errors.New("a cable is pulled"))
	_, _, err = s.Get(ctx, held.Path())
	require.NoError(t, err, "the name in the certificate is the same, and so is the right to read")
	require.Same(t, &second, shown.Load())
	require.NoError(t, s.VerifyLive(ctx, held.Path()))
	require.NoError(t, held.Err())
	require.NoError(t, s.Err())
	require.NoError(t, s.Delete(ctx, held.Path(), -1))
}
