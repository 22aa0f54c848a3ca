package session_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// pin accepts servers with these public keys only, by the SHA-256 hash of the key as it stands
// in the certificate.
func pin(hashes ...[sha256.Size]byte) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		server := state.PeerCertificates[0]
		hash := sha256.Sum256(server.RawSubjectPublicKeyInfo)
		if !slices.Contains(hashes, hash) {
			return fmt.Errorf("the public key of %q, with the hash %x, is not pinned", server.Subject, hash)
		}
		return nil
	}
}

// The servers must have one of the pinned public keys, besides a certificate of a trusted
// authority: another certificate of the same authority does not do.
func ExampleOptions_pinning() {
	ctx := context.Background()
	srv, err := zktest.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	front, certificate := startTLS(srv.Addr())
	defer front.stop()
	authorities := x509.NewCertPool()
	authorities.AddCert(certificate) // it is its own authority

	connect := func(hash [sha256.Size]byte) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		client, err := session.Connect(ctx, front.Addr().String(), &session.Options{TLS: &tls.Config{
			RootCAs: authorities, MinVersion: tls.VersionTLS12, VerifyConnection: pin(hash),
		}})
		if err != nil {
			return err
		}
		return client.Close(ctx)
	}
	fmt.Println("its key:", connect(sha256.Sum256(certificate.RawSubjectPublicKeyInfo)))
	err = connect(sha256.Sum256([]byte("another key")))
	fmt.Println("another key:", errors.Is(err, session.ErrUnreachable), strings.Contains(err.Error(), "is not pinned"))
	// Output:
	// its key: <nil>
	// another key: true true
}

// tlsFront is TLS in front of a server.
type tlsFront struct {
	net.Listener

	all sync.WaitGroup
}

// startTLS starts TLS in front of a server, with a certificate for tests.
func startTLS(server string) (*tlsFront, *x509.Certificate) {
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		log.Fatal(err)
	}
	f := &tlsFront{Listener: ln}
	// Waited for by stop; ends with the listener.
	f.all.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("tcp", server)
			if err != nil {
				log.Fatal(err)
			}
			// Waited for by stop; ends when one of the connections is closed.
			f.all.Go(func() { relay(back, client) })
			// Waited for by stop, too; ends with it.
			f.all.Go(func() { relay(client, back) })
		}
	})
	return f, web.Certificate()
}

func (f *tlsFront) stop() {
	_ = f.Close()
	f.all.Wait()
}

// relay copies until one of the connections is closed.
func relay(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}
