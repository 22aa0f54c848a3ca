package kerberos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/zkrecipes/zkrecipes/session"
)

// Login authenticates the connections of a client with Kerberos. Make it with [Keytab] or
// [CredentialCache]. One Login can serve any number of clients, and needs no Close: it has no
// goroutines.
type Login struct {
	owner   string // of the keytab; "": a credential cache
	file    string // of the key or the ticket
	options Options
	dns     dns

	mu sync.Mutex
	// tgt is the ticket-granting ticket that the key was exchanged for last, or nil.
	tgt *ticket
	// services are the last tickets of servers, by client and server, for when no KDC
	// answers.
	services map[string]*ticket
	// kdcs are the KDCs that answered last, by realm.
	kdcs map[string]place
}

// Keytab authenticates as a principal, such as app@EXAMPLE.ORG or
// app/host.example.org@EXAMPLE.ORG, with its key in a keytab file. Without a realm, the
// principal is in default_realm of krb5.conf. The Login gets tickets when they are needed, and
// reads the file again for each of them, so that a new keytab takes effect without a restart.
//
// A missing file, a file without a key of the principal, and an invalid krb5.conf are errors
// at once; no request is sent. [Login.Verify] asks the KDC.
func Keytab(owner, file string, o *Options) (*Login, error) {
	l, cfg, err := newLogin(file, o)
	if err != nil {
		return nil, err
	}
	if owner == "" {
		return nil, fmt.Errorf("kerberos: Keytab: %w: the principal is empty", ErrInvalidArgument)
	}
	if file == "" {
		return nil, fmt.Errorf("kerberos: Keytab: %w: the path of the keytab is empty", ErrInvalidArgument)
	}
	l.owner = owner
	if _, err := readKeys(file, owner, cfg); err != nil {
		return nil, fmt.Errorf("kerberos: Keytab: %w", err)
	}
	return l, nil
}

// CredentialCache authenticates with the ticket in a credential cache, as kinit writes it:
// the file is a path, or empty for $KRB5CCNAME or /tmp/krb5cc_UID. The Login reads the file
// for each connection, and does not renew the ticket: let k5start, or kinit -R at intervals,
// renew it. A session that is connected stays so when the ticket expires.
//
// A missing file, an expired ticket and an invalid krb5.conf are errors at once; no request is
// sent.
func CredentialCache(file string, o *Options) (*Login, error) {
	file, err := cacheFile(file)
	if err != nil {
		return nil, fmt.Errorf("kerberos: CredentialCache: %w", err)
	}
	l, _, err := newLogin(file, o)
	if err != nil {
		return nil, err
	}
	if _, err := readCache(file); err != nil {
		return nil, fmt.Errorf("kerberos: CredentialCache: %w", err)
	}
	return l, nil
}

func newLogin(file string, o *Options) (*Login, *config.Config, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, nil, fmt.Errorf("kerberos: %w", err)
	}
	cfg, err := loadConfig(options.configFiles())
	if err != nil {
		return nil, nil, fmt.Errorf("kerberos: %w", err)
	}
	return &Login{file: file, options: options, dns: net.DefaultResolver, services: map[string]*ticket{}, kdcs: map[string]place{}}, cfg, nil
}

// SASL begins the authentication of a connection to a server; it is the value of
// session.Options.SASL. SASL gets a new ticket for the server from the KDC; if no KDC
// answers, it uses the last one until that expires. SASL returns when ctx ends, at the latest.
//
// Errors: ErrConfig, ErrCredentials, ErrServerUnknown, ErrClockSkew, ErrKDCUnreachable.
func (l *Login) SASL(ctx context.Context, server string) (session.SASLMechanism, error) {
	if err := l.check(ctx); err != nil {
		return nil, fmt.Errorf("kerberos: authenticate to %s: %w", server, err)
	}
	t, err := l.serviceTicket(ctx, server)
	if err == nil {
		var m *mechanism
		if m, err = newMechanism(t); err == nil {
			return m, nil
		}
	}
	return nil, fmt.Errorf("kerberos: authenticate to %s: %w", server, err)
}

// Verify asks the KDC whether the credentials are valid, and keeps the ticket. Call it before
// session.Connect in a program that should end when its keytab is wrong: Connect cannot tell
// such a failure from one that passes, and tries again until its context ends. Without a
// deadline of ctx, each KDC has 5 s by TCP and 5 s by UDP.
func (l *Login) Verify(ctx context.Context) error {
	err := l.check(ctx)
	if err == nil {
		err = l.verify(ctx)
	}
	if err != nil {
		return fmt.Errorf("kerberos: verify: %w", err)
	}
	return nil
}

func (l *Login) verify(ctx context.Context) error {
	cfg, err := loadConfig(l.options.configFiles())
	if err != nil {
		return err
	}
	if l.owner == "" {
		tgt, err := readCache(l.file)
		if err != nil {
			return err
		}
		// A ticket for the KDC itself shows that the KDC accepts the ticket.
		_, err = l.grantIn(ctx, cfg, grantedRealm(tgt.message.SName), tgt, ticketGranting(tgt.client.realm))
		return err
	}
	_, err = l.renew(ctx, cfg)
	return err
}

// check reports misuse, and the end of ctx.
func (l *Login) check(ctx context.Context) error {
	switch {
	case l == nil || l.services == nil:
		return fmt.Errorf("%w: the Login is nil or zero: make it with kerberos.Keytab or kerberos.CredentialCache", ErrInvalidArgument)
	case ctx == nil:
		return fmt.Errorf("%w: the context is nil", ErrInvalidArgument)
	}
	return ctx.Err()
}

// serviceTicket gets a ticket for a server.
func (l *Login) serviceTicket(ctx context.Context, host string) (*ticket, error) {
	cfg, err := loadConfig(l.options.configFiles())
	if err != nil {
		return nil, err
	}
	server := l.serverPrincipal(ctx, cfg, host)
	key := server.String()
	if l.owner == "" { // the cache may have got a ticket of another client
		tgt, err := readCache(l.file)
		if err != nil {
			return nil, err
		}
		key += " " + tgt.client.String()
	}
	l.mu.Lock()
	last := l.services[key]
	l.mu.Unlock()
	asking, cancel := ctx, context.CancelFunc(func() {})
	if last.isValid(time.Now()) {
		asking, cancel = limit(ctx, 2) // the other half is for the exchange with the server
	}
	defer cancel()
	// A new ticket, also while the last one is valid: the key of the server may have
	// changed, and a session does not outlive the server's refusal.
	t, err := l.requestTicket(asking, cfg, server)
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, ErrKDCUnreachable) && last.isValid(time.Now()) {
			return last, nil
		}
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.services[key] = t
	return t, nil
}

// requestTicket gets a ticket for a server from the KDCs.
func (l *Login) requestTicket(ctx context.Context, cfg *config.Config, server principal) (*ticket, error) {
	if l.owner == "" {
		tgt, err := readCache(l.file)
		if err != nil {
			return nil, err
		}
		return l.grant(ctx, cfg, tgt, server)
	}
	l.mu.Lock()
	tgt := l.tgt
	l.mu.Unlock()
	if tgt.isFresh(time.Now()) {
		if t, err := l.grant(ctx, cfg, tgt, server); !isStale(err) {
			return t, err
		}
	}
	tgt, err := l.renew(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return l.grant(ctx, cfg, tgt, server)
}

// renew gets a new ticket-granting ticket with the key of the keytab.
func (l *Login) renew(ctx context.Context, cfg *config.Config) (*ticket, error) {
	k, err := readKeys(l.file, l.owner, cfg)
	if err != nil {
		return nil, err
	}
	tgt, err := l.logIn(ctx, cfg, k)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tgt = tgt
	return tgt, nil
}
