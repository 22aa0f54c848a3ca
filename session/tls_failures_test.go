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

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{}
	pair := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// sign fills in what template lacks, and signs it; a new authority signs its own certificate.
func (a *authority) sign(t *testing.T, template *x509.Certificate) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// issue signs the certificate of a server or a client, valid from and to so long from now.
func (a *authority) issue(t *testing.T, name string, from, to time.Duration) tls.Certificate {
	return a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(to),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// listDials are attempts to connect to localhost, of which the fourth ends the test.
type listDials struct {
	times []time.Time
	end   context.CancelFunc
}

func (d *listDials) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.times = append(d.times, time.Now()); len(d.times) == 4 {
		d.end()
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func TestEachFailureOfTLSSaysWhatToDo(t *testing.T) {
	ca, other := newAuthority(t, "ca of the ensemble"), newAuthority(t, "another ca")
	const hour = time.Hour
	good := ca.issue(t, "localhost", -hour, hour)
	app := ca.issue(t, "app", -hour, hour)
	serves := func(pair tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{pair}} } //nolint:gosec // old versions are refused
	trusts := func(pairs ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ca.pool(), Certificates: pairs}
	} //nolint:gosec // as above
	// demands is a server that wants a certificate of its authority.
	demands := func(version uint16) *tls.Config {
		c := serves(good)
		c.ClientAuth, c.ClientCAs, c.MinVersion, c.MaxVersion = tls.RequireAndVerifyClientCert, ca.pool(), version, version
		return c
	}
	// shows is a client that shows its certificate whatever the server wants.
	shows := func(pair tls.Certificate) *tls.Config {
		c := trusts()
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		return c
	}
	with := func(c *tls.Config, change func(c *tls.Config)) *tls.Config { change(c); return c }
	// hangsUp is a server that refuses each client without an alert.
	hangsUp := func(version uint16) *tls.Config {
		return with(serves(good), func(c *tls.Config) {
			c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				refuses := demands(version)
				refuses.VerifyConnection = func(tls.ConnectionState) error { return errors.Join(hello.Conn.Close(), errors.New("refused")) }
				return refuses, nil
			}
		})
	}
	expired := ca.issue(t, "localhost", -2*hour, -hour)
	type failure struct {
		name           string
		server, client *tls.Config // nil: without TLS
		wants          []string
	}
	tests := []failure{
		{"server without TLS", nil, trusts(), []string{"TLS with", "speaks no TLS at this port", "secureClientPort"}},
		{"client without TLS", serves(good), nil, []string{"closed the connection", "connect with TLS"}},
		{"unknown authority", serves(other.issue(t, "localhost", -hour, hour)), trusts(), []string{"unknown authority", `signed by "CN=another ca"`, "RootCAs"}},
		{"expired certificate", serves(expired), trusts(), []string{"expired", `"CN=localhost"`, "valid from", "renew it"}},
		{"certificate not yet valid", serves(ca.issue(t, "localhost", hour, 2*hour)), trusts(), []string{"not yet valid", "set the clock"}},
		{"wrong name", serves(ca.issue(t, "zk1.example.org", -hour, hour)), trusts(), []string{"valid for zk1.example.org, not localhost", "ServerName"}},
		{"no version in common", with(serves(good), func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }),
			with(trusts(), func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }), []string{"protocol version", "offers TLS 1.3 to TLS 1.3", "ssl.enabledProtocols"}},
		{"no cipher suite in common", with(serves(good), func(c *tls.Config) {
			c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
		}), with(trusts(), func(c *tls.Config) {
			c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
		}), []string{"handshake failure", "cipher suite in common", "CipherSuites"}},
		{"private key of another certificate", demands(tls.VersionTLS13),
			shows(tls.Certificate{Certificate: app.Certificate, PrivateKey: good.PrivateKey}), []string{"key may not belong to its certificate"}},
		{"files that cannot be read", demands(tls.VersionTLS13), with(trusts(), func(c *tls.Config) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				pair, err := tls.LoadX509KeyPair("/no/cert.pem", "/no/key.pem")
				return &pair, err
			}
		}), []string{"open /no/cert.pem"}},
	}
	for version, name := range map[uint16]string{tls.VersionTLS12: " of TLS 1.2", tls.VersionTLS13: " of TLS 1.3"} {
		tests = append(tests,
			failure{"server that hangs up" + name, hangsUp(version), shows(app),
				[]string{"refuse the client without saying why: its log has the reason", `"CN=app" is signed by`}},
			failure{"client without a certificate" + name, demands(version), trusts(), []string{"the client has none", "GetClientCertificate"}},
			failure{"client with a certificate that does not fit" + name, demands(version), trusts(other.issue(t, "app", -hour, hour)),
				[]string{"no certificate of the client is from an authority that the server trusts"}},
			failure{"unknown authority of the client" + name, demands(version), shows(other.issue(t, "app", -hour, hour)),
				[]string{`"CN=app" is signed by "CN=another ca"`, "the server must trust"}},
			failure{"expired certificate of the client" + name, demands(version), shows(ca.issue(t, "app", -2*hour, -hour)),
				[]string{`the client's certificate "CN=app" is valid from`, "renew it"}},
		)
	}
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // it waits
			addr := srv.Addr()
			if tt.server != nil {
				addr = serveTLS(t, srv.Addr(), tt.server)
			}
			_, port, err := net.SplitHostPort(addr)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			dials := &listDials{end: cancel}
			_, err = Connect(ctx, "localhost:"+port, &Options{TLS: tt.client, Dialer: dials.dial})
			require.ErrorIs(t, err, ErrUnreachable)
			for _, want := range append(tt.wants, "localhost:"+port) {
				require.ErrorContains(t, err, want)
			}
			const pauses = (50 + 100 + 200) * time.Millisecond / 2 // see Backoff
			require.GreaterOrEqual(t, dials.times[3].Sub(dials.times[0]), pauses, "attempts are paced")
		})
	}
}

func TestFailuresOfTLSAreNoStorm(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		dials := 0
		_, err := Connect(w.within(10*time.Minute), w.srv.Addr(), &Options{TLS: &tls.Config{}, Dialer: func(ctx context.Context, network, address string) (net.Conn, error) { //nolint:gosec // it fails
			dials++
			return w.srv.Dial(ctx, network, address)
		}})
		require.ErrorIs(w, err, ErrUnreachable)
		require.ErrorContains(w, err, "speaks no TLS at this port")
		require.LessOrEqual(w, dials, 1210, "each second's half has one attempt at most, after the first five")
	})
}

// A server, or a proxy, that answers in TLS to a client without.
func TestServerThatExpectsTLSIsNamed(t *testing.T) {
	ctx, called := untilCalled(t, 2)
	var servers sync.WaitGroup
	defer servers.Wait()
	_, err := Connect(ctx, "zk1", &Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		called()
		here, there := net.Pipe()
		// Waited for above; ends when the client closes the connection.
		servers.Go(func() {
			_, _ = there.Read(make([]byte, 1000))
			_, _ = there.Write([]byte{21, 3, 3, 0, 2, 2, 10}) // the alert "unexpected message"
			_, _ = io.Copy(io.Discard, there)
		})
		return here, nil
	}})
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorContains(t, err, "zk1:2181: the server expects TLS at this port: connect with TLS")
}

func TestConfigurationOfTLSIsOfEachConnection(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	former, next := newAuthority(t, "former"), newAuthority(t, "next")
	var present atomic.Pointer[authority]
	present.Store(former)
	addr := serveTLS(t, srv.Addr(), &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair := present.Load().issue(t, "localhost", -time.Hour, time.Hour)
		return &pair, nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	broken := errors.New("the file is empty")
	attempts := 0
	c, err := Connect(ctx, addr, &Options{Timeout: 20 * time.Second, GetTLSConfig: func(_ context.Context, server string) (*tls.Config, error) {
		require.Equal(t, "localhost", server)
		if attempts++; attempts == 1 {
			return nil, broken
		}
		return &tls.Config{RootCAs: present.Load().pool(), MinVersion: tls.VersionTLS13}, nil
	}})
	require.NoError(t, err, "the second attempt has a configuration")
	defer func() { require.NoError(t, c.Close(ctx)) }()
	s, err := c.Session(ctx)
	require.NoError(t, err)
	present.Store(next)
	s.link.Drop(errors.New("a cable is pulled"))
	_, _, err = s.Exists(ctx, "/")
	require.NoError(t, err)
	require.NoError(t, s.Err())

	ended, called := untilCalled(t, 2)
	_, err = Connect(ended, addr, &Options{GetTLSConfig: func(context.Context, string) (*tls.Config, error) {
		called()
		return nil, nil
	}})
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorContains(t, err, "TLS with "+addr+": GetTLSConfig returned no configuration", "nothing is sent in the clear")
}
