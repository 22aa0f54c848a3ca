package zktest

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"
)

// ErrOption is wrapped by Start when an option makes no sense.
var ErrOption = errors.New("invalid option")

// Options of a Server; the zero value and nil mean the defaults.
type Options struct {
	// Addr is the TCP address to listen on; default "127.0.0.1:0". With several
	// servers the port must be 0. Ignored with InMemory.
	//
	// With a port, clients can outlive the server and find the next server at
	// the same address. Zxids then begin with the clock instead of 0, so the
	// next server tells these clients that their sessions have expired. A client
	// with a larger zxid than its server's is refused without an answer, as by
	// Apache's servers.
	Addr string
	// InMemory serves only through Server.Dial; no socket is opened.
	InMemory bool
	// Servers is 1 (the default, a standalone server), or the odd size of an
	// ensemble up to 9.
	Servers int
	// TickTime is the granularity of session expiry; default 2 s.
	TickTime time.Duration
	// MinSessionTimeout and MaxSessionTimeout bound the granted timeouts; default 2 and
	// 20 ticks.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// SyncLimit is after how many ticks without contact a follower gives its
	// leader up, and a leader its followers; default 5.
	SyncLimit int
	// ElectionDelay is how long an election takes; default 200 ms.
	ElectionDelay time.Duration
	// Latency is the one-way delay between servers; default 1 ms.
	Latency time.Duration
	// ContainerInterval is how often empty containers and expired TTL nodes are
	// deleted; default 1 minute, as Apache's.
	ContainerInterval time.Duration
	// DisableExtendedTypes refuses TTL nodes, as Apache does unless
	// zookeeper.extendedTypesEnabled is set.
	DisableExtendedTypes bool
	// Product is the server to imitate; default Apache's ZooKeeper.
	Product Product
	// OldServer refuses the requests introduced after ZooKeeper 3.5: addWatch,
	// setWatches2, multiRead, getEphemerals, getAllChildrenNumber, whoAmI.
	OldServer bool
	// StatNeedsRead refuses exists for a client without read permission on the
	// znode, as servers from 3.9.3 on do. Older servers let every client see the
	// owner of every node.
	StatNeedsRead bool
	// EnforceQuota refuses writes beyond the hard limits of quotas, as Apache's
	// servers do if zookeeper.enforceQuota is set. Statistics are kept without it.
	EnforceQuota bool
	// SASLUsers are the users of SASL's mechanism DIGEST-MD5, with their passwords;
	// without any, the server has no SASL, as Apache's without an authProvider.
	SASLUsers map[string]string
	// EnforceAuth are the schemes ("digest", "sasl") of which a client must have
	// authenticated by one; the server refuses other clients' requests with
	// SESSIONCLOSEDREQUIRESASLAUTH (-124), and closes their sessions' connections, as
	// Apache's do with zookeeper.enforce.auth.schemes. Default: none are enforced.
	EnforceAuth []string
	// ReadOnly lets a server of an ensemble that has found no leader for two seconds carry out
	// the reads of clients that ask for that, as Apache's do with readonlymode.enabled,
	// localSessionsEnabled and localSessionsUpgradingEnabled.
	ReadOnly bool
	// MaxFrame is the largest request in bytes; default 1048575. A larger
	// request closes the connection.
	MaxFrame int
	// Logger gets the actions of the servers, at level debug, and failures to accept
	// connections, as warnings; default silent.
	Logger *slog.Logger
}

func (o *Options) withDefaults() (Options, error) {
	var f Options
	if o != nil {
		f = *o
	}
	setDefault(&f.Addr, "127.0.0.1:0")
	setDefault(&f.Servers, 1)
	setDefault(&f.TickTime, 2*time.Second)
	setDefault(&f.MinSessionTimeout, 2*f.TickTime)
	setDefault(&f.MaxSessionTimeout, 20*f.TickTime)
	setDefault(&f.SyncLimit, 5)
	setDefault(&f.ElectionDelay, 200*time.Millisecond)
	setDefault(&f.Latency, time.Millisecond)
	setDefault(&f.ContainerInterval, time.Minute)
	setDefault(&f.MaxFrame, 0xfffff)
	setDefault(&f.Product, Apache)
	f.StatNeedsRead = f.StatNeedsRead || f.Product == ClickHouseKeeper
	if f.Logger == nil {
		f.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case f.Servers < 1 || f.Servers > 9 || f.Servers%2 == 0:
		return f, fmt.Errorf("zktest: Servers %d is not odd and in 1..9: %w", f.Servers, ErrOption)
	case f.TickTime < time.Millisecond || f.ElectionDelay < 0 || f.Latency < 0 || f.ContainerInterval < time.Millisecond:
		return f, fmt.Errorf("zktest: TickTime, ElectionDelay, Latency or ContainerInterval too small: %w", ErrOption)
	case f.MinSessionTimeout < time.Millisecond || f.MinSessionTimeout > f.MaxSessionTimeout:
		return f, fmt.Errorf("zktest: MinSessionTimeout above MaxSessionTimeout: %w", ErrOption)
	case slices.ContainsFunc(f.EnforceAuth, func(scheme string) bool { return scheme != "digest" && scheme != "sasl" }):
		return f, fmt.Errorf("zktest: EnforceAuth is %q; the schemes are digest and sasl: %w", f.EnforceAuth, ErrOption)
	case f.Product != Apache && f.Product != ClickHouseKeeper && f.Product != RaftKeeper:
		return f, fmt.Errorf("zktest: Product is %q; it must be %q, %q or %q: %w", f.Product, Apache, ClickHouseKeeper, RaftKeeper, ErrOption)
	case f.SyncLimit < 1 || f.MaxFrame < 1:
		return f, fmt.Errorf("zktest: SyncLimit or MaxFrame below 1: %w", ErrOption)
	}
	return f, nil
}

// zxidEpoch is the time to which zxids from the clock are relative. Such zxids
// stay below 2^53, the limit of JavaScript and JSON tools, for 69 years.
const zxidEpoch = 1577836800000 // 2020-01-01, milliseconds since 1970

// zxidBits is the binary logarithm of the number of zxids per millisecond. A
// server uses fewer, so the next server always begins above them.
const zxidBits = 12

func (o *Options) firstZxid(now time.Time) int64 {
	if _, port, err := net.SplitHostPort(o.Addr); o.InMemory || err != nil || port == "0" {
		return 0
	}
	// Finer than milliseconds: a server may start in the same millisecond in
	// which its predecessor started, wrote and stopped.
	ms, ns := now.UnixMilli()-zxidEpoch, int64(now.Nanosecond())%int64(time.Millisecond)
	return ms<<zxidBits + ns<<zxidBits/int64(time.Millisecond)
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
