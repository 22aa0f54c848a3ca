package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// closeLimit bounds the closing of a client: the servers may be away.
const closeLimit = 5 * time.Second

// options makes session options of the global flags.
func (a *app) options() (*session.Options, error) {
	o := &session.Options{Timeout: a.flags.sessionTimeout}
	secret, err := a.credentials()
	if err != nil {
		return nil, err
	}
	if secret != "" {
		user, password, _ := strings.Cut(secret, ":")
		o.Credentials = []session.Credential{session.Digest(user, password)}
	}
	if o.TLS, err = a.tlsConfig(); err != nil {
		return nil, err
	}
	if a.flags.verbose {
		levels := &slog.HandlerOptions{Level: slog.LevelDebug}
		log := slog.New(slog.NewTextHandler(a.stderr, levels))
		if a.json() {
			log = slog.New(slog.NewJSONHandler(a.stderr, levels))
		}
		o.Logger = log
		o.Hooks = &session.Hooks{State: func(s session.State) {
			log.Info("zookeeper session", "status", s.Status, "session", fmt.Sprintf("%#x", s.Session), "server", s.Server, "cause", s.Cause)
		}}
	}
	return o, nil
}

// credentials finds user:password; "" if there is none.
func (a *app) credentials() (string, error) {
	secret, from := a.flags.user, "--user"
	if secret == "" && a.flags.authFile != "" {
		from = a.named("auth-file") + " " + a.flags.authFile
		text, err := os.ReadFile(a.flags.authFile)
		if err != nil {
			return "", usage("%s: %w", from, err)
		}
		secret, _, _ = strings.Cut(string(text), "\n")
		if secret = strings.TrimRight(secret, "\r"); secret == "" {
			return "", usage("%s: its first line is empty; it must be user:password", from)
		}
	}
	if secret == "" {
		secret, from = a.env("ZKR_AUTH"), "ZKR_AUTH"
	}
	if user, _, ok := strings.Cut(secret, ":"); secret != "" && (!ok || user == "") {
		return "", usage("%s is not user:password", from)
	}
	return secret, nil
}

func (a *app) tlsConfig() (*tls.Config, error) {
	g := &a.flags
	if !g.tls {
		return nil, nil
	}
	c := &tls.Config{ServerName: g.tlsServerName, MinVersion: tls.VersionTLS12}
	if g.tlsCA != "" {
		pem, err := os.ReadFile(g.tlsCA)
		if err != nil {
			return nil, usage("%s: %w", a.named("tls-ca"), err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usage("%s: %s has no certificate in PEM form", a.named("tls-ca"), g.tlsCA)
		}
	}
	if g.tlsCert != "" {
		pair, err := tls.LoadX509KeyPair(g.tlsCert, g.tlsKey)
		if err != nil {
			return nil, usage("%s, %s: %w", a.named("tls-cert"), a.named("tls-key"), err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// connectString is the servers with the chroot.
func (a *app) connectString() (string, error) {
	servers, chroot := a.flags.servers, a.flags.chroot
	if chroot == "" {
		return servers, nil
	}
	if strings.Contains(servers, "/") {
		return "", usage("%s %s has a chroot already, so %s %s makes no sense", a.named("servers"), servers, a.named("chroot"), chroot)
	}
	if !strings.HasPrefix(chroot, "/") {
		return "", usage("%s is %q; it must begin with a slash", a.named("chroot"), chroot)
	}
	if err := session.ValidatePath(chroot); err != nil {
		return "", usage("%s: %w", a.named("chroot"), err)
	}
	return servers + chroot, nil
}

// connect connects within --connect-timeout.
func (a *app) connect(ctx context.Context, o *session.Options) (*session.Client, error) {
	servers, err := a.connectString()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, a.flags.connectTimeout)
	defer cancel()
	client, err := session.Connect(limited, servers, o)
	switch {
	case err == nil:
		return client, nil
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, context.Cause(ctx) // somebody ended zkr
	case errors.Is(err, session.ErrInvalidServers):
		return nil, usage("%s: %w", a.named("servers"), err)
	case errors.Is(err, session.ErrUnreachable):
		return nil, &failure{code: exitUnavailable, err: err, hint: fmt.Sprintf(
			"tried %s for %v; are --servers (ZKR_SERVERS) right? \"zkr serve\" starts a server for tests", servers, a.flags.connectTimeout)}
	}
	return nil, err
}

// hangUp closes a client within closeLimit. What is held is released with its
// session; if the servers are away, they find out by themselves.
func hangUp(ctx context.Context, client *session.Client) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return client.Close(limited)
}
