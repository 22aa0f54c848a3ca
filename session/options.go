package session

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// DefaultTimeout is the session timeout that is asked for unless
// [Options.Timeout] says otherwise.
const DefaultTimeout = 10 * time.Second

// Options of [Connect]. nil and the zero value mean all defaults.
type Options struct {
	// Timeout of sessions; default: DefaultTimeout, or what the servers
	// grant instead. One that is set here must be granted as it is: servers
	// allow 2 to 20 ticks, 4 s to 40 s by default. Otherwise Connect fails
	// with ErrTimeoutRefused.
	Timeout time.Duration
	// TickTime is the servers' tickTime, if it is known. It lets the rule of
	// Trust give up later (6.9 s to 7.9 s after the last answer at a timeout
	// of 10 s and a tick of 2 s, instead of 6.1 s to 6.8 s), and refuse a timeout for which
	// no sound rule exists. Set it if the servers grant timeouts below two
	// ticks (minSessionTimeout).
	TickTime time.Duration
	// Trust is the rule by which a session is kept while something is held;
	// default: TrustQuorum.
	Trust TrustRule
	// Reserve makes what is held end so much before trust does: time to stop
	// what cannot stop at once, such as another process. The session, and
	// with it the held znodes, is given up only when the reserve is over,
	// even if a proof arrives meanwhile. At most a quarter of the session
	// timeout, or Connect fails with ErrTimeoutTooShort. Default: none.
	Reserve time.Duration
	// TLS switches TLS on.
	TLS *tls.Config
	// Credentials are sent on every connection, ahead of all else; see
	// [Digest].
	Credentials []Credential
	// ACL of znodes that are created; default: everybody may do everything.
	// With Credentials, CreatorACL() restricts it to their owner.
	ACL []ACL
	// Logger gets what people should see: lost sessions, sequence numbers
	// that run out. Default: silent.
	Logger *slog.Logger
	// Dialer opens connections; default: a net.Dialer. TLS runs on top.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)
	// Retry is the back-off between attempts to connect.
	Retry Retry
	// Hooks for metrics; may be nil.
	Hooks *Hooks
	// MaxReply is the longest answer accepted from a server, in bytes;
	// default 16 MiB. Servers refuse requests above jute.maxbuffer, but
	// answer with longer lists of children.
	MaxReply int
	// MaxRequest is the servers' jute.maxbuffer; default 1,048,575. A longer
	// request fails with ErrTooLarge.
	MaxRequest int
}

// Retry is the back-off between attempts to connect: each waits twice as long
// as the one before, from Min up to Max, less a random part of up to a half.
// Every server is tried once before the first wait. While there is a session
// to save, no wait is longer than an eighth of its timeout.
type Retry struct {
	Min time.Duration // default 50 ms
	Max time.Duration // default 5 s
}

// Credential proves an identity to the servers.
type Credential struct {
	Scheme string
	Auth   []byte
}

// Digest is a user and password in ZooKeeper's digest scheme.
func Digest(user, password string) Credential {
	return Credential{Scheme: "digest", Auth: []byte(user + ":" + password)}
}

// What an [ACL] may allow, to be added up.
const (
	PermRead   int32 = zk.PermRead
	PermWrite  int32 = zk.PermWrite
	PermCreate int32 = zk.PermCreate
	PermDelete int32 = zk.PermDelete
	PermAdmin  int32 = zk.PermAdmin
	PermAll    int32 = zk.PermAll
)

// WorldACL lets everybody do what perms says, for instance PermRead.
func WorldACL(perms int32) []ACL { return zk.WorldACL(perms) }

// CreatorACL lets those do everything who have the creator's credentials.
func CreatorACL() []ACL { return zk.AuthACL(PermAll) }

// withDefaults checks o and fills in what it leaves open.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("%w: %s is %v; it must be %s", ErrInvalidOption, field, value, want)
	}
	switch {
	case out.Timeout < 0 || out.Timeout%time.Millisecond != 0 || out.Timeout > maxTimeout:
		return out, bad("Timeout", out.Timeout, "0 or whole milliseconds up to "+maxTimeout.String())
	case out.TickTime < 0:
		return out, bad("TickTime", out.TickTime, "0 (unknown) or more")
	case out.Reserve < 0:
		return out, bad("Reserve", out.Reserve, "0 (none) or more")
	case out.Trust != TrustQuorum && out.Trust != TrustAnswered:
		return out, bad("Trust", int(out.Trust), "TrustQuorum or TrustAnswered")
	case out.Retry.Min < 0 || out.Retry.Max < 0:
		return out, bad("Retry", out.Retry, "0 (default) or more")
	case out.MaxReply < 0:
		return out, bad("MaxReply", out.MaxReply, "0 (default) or more")
	case out.MaxRequest < 0:
		return out, bad("MaxRequest", out.MaxRequest, "0 (default) or more")
	case len(out.ACL) == 0 && out.ACL != nil:
		return out, bad("ACL", "empty", "nil (default) or have entries")
	}
	for i, c := range out.Credentials {
		if c.Scheme == "" {
			return out, bad(fmt.Sprintf("Credentials[%d].Scheme", i), `""`, `set, for instance to "digest"`)
		}
	}
	if out.ACL == nil {
		out.ACL = WorldACL(PermAll)
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	if out.Dialer == nil {
		out.Dialer = (&net.Dialer{}).DialContext
	}
	if out.TLS != nil {
		out.Dialer = tlsDialer(out.Dialer, out.TLS)
	}
	setDefault(&out.Retry.Min, 50*time.Millisecond)
	setDefault(&out.Retry.Max, max(5*time.Second, out.Retry.Min))
	setDefault(&out.MaxReply, 16<<20)
	setDefault(&out.MaxRequest, 0xfffff)
	return out, nil
}

// maxTimeout is what the protocol's int32 of milliseconds holds.
const maxTimeout = (1<<31 - 1) * time.Millisecond

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// tlsDialer runs TLS on the connections of dial.
func tlsDialer(dial func(context.Context, string, string) (net.Conn, error), config *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := config
		if c.ServerName == "" {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				host = address
			}
			c = config.Clone()
			c.ServerName = host
		}
		conn := tls.Client(raw, c)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("TLS with %s: %w", address, err)
		}
		return conn, nil
	}
}
