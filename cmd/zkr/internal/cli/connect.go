package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// CloseLimit bounds the closing of a client: the servers may be away.
const CloseLimit = 5 * time.Second

// The schemes of credentials.
const (
	schemeDigest   = "digest"
	schemeSASL     = "sasl"
	schemeKerberos = "kerberos"
)

// Options makes session options of the global flags.
func (a *App) Options() (*session.Options, error) {
	o := &session.Options{Timeout: a.Flags.SessionTimeout, TickTime: a.Flags.tickTime, FollowEnsemble: a.Flags.followEnsemble, ReadOnly: a.Flags.readOnly}
	err := a.authenticate(o)
	if err != nil {
		return nil, err
	}
	if err := a.encrypt(o); err != nil {
		return nil, err
	}
	if o.ACL, err = a.accessList(o); err != nil {
		return nil, err
	}
	if a.Flags.verbose {
		levels := &slog.HandlerOptions{Level: slog.LevelDebug}
		log := slog.New(slog.NewTextHandler(a.Stderr, levels))
		if a.JSON() {
			log = slog.New(slog.NewJSONHandler(a.Stderr, levels))
		}
		o.Logger = log
	}
	return o, nil
}

// authenticate sets the credentials of o, of the scheme that the flags name.
func (a *App) authenticate(o *session.Options) error {
	secret, err := a.Credentials()
	if err != nil {
		return err
	}
	scheme := a.Flags.AuthScheme
	if scheme != schemeKerberos && a.Flags.Kerberos != (KerberosFlags{}) {
		return exit.Usage("the flags of Kerberos need %s kerberos", a.flagSource("auth-scheme"))
	}
	user, password, _ := strings.Cut(secret, ":")
	switch {
	case scheme == schemeKerberos && secret != "":
		return exit.Usage("%s kerberos needs no user:password; leave out --user, --auth-file and ZKR_AUTH", a.flagSource("auth-scheme"))
	case scheme == schemeKerberos:
		a.login, err = a.kerberosLogin()
		if err == nil {
			o.SASL = a.login.SASL
		}
		return err
	case scheme != schemeDigest && scheme != schemeSASL:
		return exit.Usage("%s is %q; it must be %s, %s or %s", a.flagSource("auth-scheme"), scheme, schemeDigest, schemeSASL, schemeKerberos)
	case secret == "":
	case scheme == schemeSASL:
		o.SASL = session.SASLDigestMD5(user, password)
	default:
		o.Credentials = []session.Credential{session.Digest(user, password)}
	}
	return nil
}

// accessList reads --acl. Without credentials, servers refuse the scheme auth with an error
// that does not name the reason.
func (a *App) accessList(o *session.Options) ([]session.ACL, error) {
	if a.Flags.acl == "" {
		return nil, nil
	}
	list, err := session.ParseACL(a.Flags.acl)
	if err != nil {
		return nil, exit.Usage("%s: %w", a.flagSource("acl"), err)
	}
	known := len(o.Credentials) > 0 || o.SASL != nil || a.Flags.TLSCert != ""
	if !known && slices.ContainsFunc(list, func(entry session.ACL) bool { return entry.Scheme == "auth" }) {
		return nil, exit.Usage("%s is %s; its scheme auth stands for the own credentials, and there are none: set ZKR_AUTH, --auth-file, --auth-scheme kerberos or --tls-cert", a.flagSource("acl"), a.Flags.acl)
	}
	return list, nil
}

// Credentials finds user:password; "" if there is none.
func (a *App) Credentials() (string, error) {
	secret, from := a.Flags.User, "--user"
	if secret == "" && a.Flags.authFile != "" {
		from = a.flagSource("auth-file") + " " + a.Flags.authFile
		text, err := os.ReadFile(a.Flags.authFile)
		if err != nil {
			return "", exit.Usage("%s: %w", from, err)
		}
		secret, _, _ = strings.Cut(string(text), "\n")
		if secret = strings.TrimRight(secret, "\r"); secret == "" {
			return "", exit.Usage("%s: its first line is empty; it must be user:password", from)
		}
	}
	if secret == "" {
		secret, from = a.Getenv("ZKR_AUTH"), "ZKR_AUTH"
	}
	if user, _, ok := strings.Cut(secret, ":"); secret != "" && (!ok || user == "") {
		return "", exit.Usage("%s is not user:password", from)
	}
	return secret, nil
}

// ConnectString is the servers with the chroot.
func (a *App) ConnectString() (string, error) {
	servers, chroot := a.Flags.Servers, a.Flags.Chroot
	if chroot == "" {
		return servers, nil
	}
	if strings.Contains(servers, "/") {
		return "", exit.Usage("%s %s has a chroot already, so %s %s makes no sense", a.flagSource("servers"), servers, a.flagSource("chroot"), chroot)
	}
	if !strings.HasPrefix(chroot, "/") {
		return "", exit.Usage("%s is %q; it must begin with a slash", a.flagSource("chroot"), chroot)
	}
	if err := session.ValidatePath(chroot); err != nil {
		return "", exit.Usage("%s: %w", a.flagSource("chroot"), err)
	}
	return servers + chroot, nil
}

// Connect connects within --connect-timeout.
func (a *App) Connect(ctx context.Context, o *session.Options) (*session.Client, error) {
	servers, err := a.ConnectString()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, a.Flags.ConnectTimeout)
	defer cancel()
	if a.login != nil {
		if err := verifyLogin(limited, a.login); err != nil {
			return nil, err
		}
	}
	client, err := session.Connect(limited, servers, o)
	switch {
	case err == nil:
		return client, nil
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, context.Cause(ctx) // a signal has ended zkr
	case errors.Is(err, session.ErrInvalidServers):
		return nil, exit.Usage("%s: %w", a.flagSource("servers"), err)
	case errors.Is(err, session.ErrUnreachable):
		return nil, &exit.Failure{Code: exit.CodeUnavailable, Err: err, Hint: fmt.Sprintf(
			"tried %s for %v; check --servers (ZKR_SERVERS); %s", servers, a.Flags.ConnectTimeout, a.hintOnConnections())}
	}
	return nil, err
}

// hintOnConnections names the flags for what errors of package session call by the fields of
// its options.
func (a *App) hintOnConnections() string {
	if a.Flags.TLS {
		return "RootCAs is --tls-ca, ServerName is --tls-server-name, Certificates are --tls-cert and --tls-key"
	}
	return "--tls connects with TLS; \"zkr serve\" starts a server for tests"
}

// ConnectionError is the error of an action without a connection: it names both the error
// of the action and the reason why there is no connection.
type ConnectionError struct {
	error // of what was done

	cause error // why there is no connection
}

func (o *ConnectionError) Error() string {
	return fmt.Sprintf("%v; not connected: %v", o.error, o.cause)
}

// Unwrap returns the error of what was done.
func (o *ConnectionError) Unwrap() error { return o.error }

// WithOutage adds to err the reason why client has no connection, if client has none.
func WithOutage(client *session.Client, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	state := client.State()
	if state.Status != session.Suspended || state.Cause == nil {
		return err
	}
	return &ConnectionError{err, state.Cause}
}

// CloseClient closes a client within CloseLimit. Closing the session releases
// everything the client holds; if the servers are away, the session times out.
func CloseClient(ctx context.Context, client *session.Client) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseLimit)
	defer cancel()
	return client.Close(limited)
}
