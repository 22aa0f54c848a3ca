package session

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/observe"
)

// DefaultTimeout is the default of [Options.Timeout].
const DefaultTimeout = 10 * time.Second

// Options of [Connect]. nil and the zero value mean all defaults.
type Options struct {
	// Timeout of sessions; default: DefaultTimeout, or the nearest timeout that
	// the servers grant. A timeout that is set here must be granted exactly:
	// servers allow 2 to 20 ticks, 4 s to 40 s by default. Otherwise Connect
	// fails with ErrTimeoutRefused.
	Timeout time.Duration
	// TickTime is the servers' tickTime, if it is known. With TickTime, the rule
	// of Trust gives up later (6.9 s to 7.9 s after the last reply at a timeout
	// of 10 s and a tick of 2 s, instead of 6.1 s to 6.8 s), and refuses a
	// timeout without a sound rule. Set TickTime if the servers grant timeouts
	// below two ticks (minSessionTimeout), and set it to twice the tickTime if the
	// servers are observers behind an observer master, which relay twice.
	TickTime time.Duration
	// Trust is the rule that proves a session while something is held; default:
	// TrustQuorum.
	Trust TrustRule
	// StopMargin ends holds this much earlier than trust ends: time for work that
	// cannot stop at once, such as another process. The session, and with it the
	// held znodes, is given up only when the reserve is over, even if a proof
	// arrives meanwhile. At most a quarter of the session timeout, or Connect
	// fails with ErrTimeoutTooShort. Default: none.
	StopMargin time.Duration
	// SharedHeartbeats is the path of a folder in which the sessions of one server share
	// their heartbeats: while something is held, a session reads a znode of the folder
	// every 2.6 s (at a timeout of 10 s), and the servers get two writes per second from
	// all sessions of a server together, instead of one from each. Set it for some
	// hundred sessions that hold something, and more. Default: none; each session sends
	// heartbeats of its own.
	//
	// All clients that have the folder in common trust each other: a client that writes
	// false heartbeats into it can make others believe in holds that are lost. The
	// clients create the folder, with ACL, and need the right to write to it. TickTime
	// must be set, with a timeout of five ticks or more, or Connect fails with
	// ErrTimeoutTooShort. A session that has moved to another server, and a session on
	// servers that are not Apache ZooKeeper's, sends heartbeats of its own.
	SharedHeartbeats string
	// TLS switches TLS on. If ServerName is empty, the certificate is checked against the
	// server's name in the list.
	TLS *tls.Config
	// GetTLSConfig returns the configuration of TLS for one connection, in place of TLS, with
	// the name of the server as it stands in the list, without its port: for authorities
	// that are renewed while the process runs. After an error, which a failed Connect
	// returns, the next server is tried; ctx is over when the attempt must be.
	GetTLSConfig func(ctx context.Context, server string) (*tls.Config, error)
	// Credentials are sent on every connection, ahead of all else; see
	// [Digest].
	Credentials []Credential
	// SASL begins the authentication of a connection by SASL, with the name of the server as
	// it stands in the list, without its port; for example [SASLDigestMD5], or the method
	// SASL of a Login of the module session/kerberos. Nothing is sent before it returns. ctx is over
	// when the connection must be, a third of the session timeout after it was opened. After
	// an error, which a failed Connect returns, the next server is tried; after a server's
	// refusal the session is lost with ErrAuthFailed.
	SASL func(ctx context.Context, server string) (SASLMechanism, error)
	// ACL of created znodes; default: every client may do everything. With
	// Credentials, CreatorACL() restricts it to their owner.
	ACL []ACL
	// Observer receives what the sessions and recipes of the client do, for metrics,
	// traces and logs: see package observe. Default: none.
	Observer observe.Observer
	// Logger receives the same as messages for people, as [observe.Log] writes them, and
	// rare warnings: sequence numbers that run out, servers that refuse. Default: silent.
	Logger *slog.Logger
	// Dialer opens connections; default: a net.Dialer. TLS runs on top. A Dialer gets the
	// servers as they stand in the list, and resolves their names itself, for instance
	// behind a proxy, unless Resolver is set.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)
	// Resolver returns the addresses of a server's name; default, without a Dialer:
	// net.DefaultResolver.LookupHost. A name may have several addresses, as those of a
	// headless service have: each is tried as a server of its own, in random order, and
	// the name is resolved again when all addresses of all servers have been tried, and
	// after a connection. While a name cannot be resolved, the addresses last known are
	// tried. There is one call at a time for each name; ctx ends 20 s after its begin, and
	// with the client. An answer that comes later than an attempt to connect waits for it,
	// up to 2 s, is used by the next attempt.
	Resolver func(ctx context.Context, host string) (addresses []string, err error)
	// FollowEnsemble uses the servers of the ensemble's dynamic configuration (the znode
	// /zookeeper/config) in place of those given to Connect, and follows its changes: a
	// session on a server that was removed goes to another one at once, and when servers were
	// added, enough sessions move there to balance the servers. A session moves with all that
	// it holds, and only after the other server has accepted a connection beside the present
	// one; a client that cannot tell whether its server was removed stays. The servers given to
	// Connect are tried between those of the configuration that have not answered yet, of which
	// a warning is logged. Set it if clients can reach the addresses behind the semicolons of
	// the configuration, and each server has one there; otherwise a warning is logged, and the
	// list stays. On ClickHouse Keeper no session moves, as it would be lost. Default: off, as
	// the addresses may be internal to the ensemble.
	FollowEnsemble bool
	// ReadOnly lets [Client.ReadSession], and so package cache and what is made of it, read
	// from a server without a quorum while no other server can be reached: see
	// docs/connecting.md. Nothing is ever written through such a server, or held. The servers
	// need readonlymode.enabled, localSessionsEnabled and localSessionsUpgradingEnabled.
	// Default: off.
	ReadOnly bool
	// Backoff is the pauses between attempts to connect.
	Backoff Backoff
	// MaxReply is the longest reply that the client accepts from a server, in
	// bytes; default 16 MiB. Servers refuse requests above jute.maxbuffer, but
	// send longer lists of children.
	MaxReply int
	// MaxRequest is the servers' jute.maxbuffer; default 1,048,575. A longer
	// request fails with ErrTooLarge.
	MaxRequest int
}

// Backoff is the pauses between attempts to connect: each pause is twice the
// pause before, from Min up to Max, less a random part of up to a half. Each
// attempt tries every server once, without a pause in between. While a session
// can be saved, no pause is longer than an eighth of its timeout.
type Backoff struct {
	Min time.Duration // default 50 ms
	Max time.Duration // default 1 s
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

// withDefaults checks o and fills in the defaults.
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
	case out.StopMargin < 0:
		return out, bad("StopMargin", out.StopMargin, "0 (none) or more")
	case out.Trust != TrustQuorum && out.Trust != TrustAnswered:
		return out, bad("Trust", int(out.Trust), "TrustQuorum or TrustAnswered")
	case out.Backoff.Min < 0 || out.Backoff.Max < 0:
		return out, bad("Backoff", out.Backoff, "0 (default) or more")
	case out.MaxReply < 0:
		return out, bad("MaxReply", out.MaxReply, "0 (default) or more")
	case out.MaxRequest < 0:
		return out, bad("MaxRequest", out.MaxRequest, "0 (default) or more")
	case len(out.ACL) == 0 && out.ACL != nil:
		return out, bad("ACL", "empty", "nil (default) or have entries")
	}
	if out.SharedHeartbeats != "" {
		if err := ValidatePath(out.SharedHeartbeats); err != nil || out.SharedHeartbeats == "/" {
			return out, bad("SharedHeartbeats", strconv.Quote(out.SharedHeartbeats), "empty or the path of a folder, such as /heartbeats")
		}
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
	} else {
		out.Observer = observe.Join(out.Observer, observe.Log(out.Logger))
	}
	if out.Dialer == nil {
		out.Dialer = (&net.Dialer{}).DialContext
		if out.Resolver == nil {
			out.Resolver = net.DefaultResolver.LookupHost
		}
	}
	setDefault(&out.Backoff.Min, 50*time.Millisecond)
	setDefault(&out.Backoff.Max, max(time.Second, out.Backoff.Min))
	setDefault(&out.MaxReply, 16<<20)
	setDefault(&out.MaxRequest, 0xfffff)
	return out, nil
}

// maxTimeout is the largest timeout in the protocol's int32 of milliseconds.
const maxTimeout = (1<<31 - 1) * time.Millisecond

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
