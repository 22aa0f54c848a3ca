package zktest

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ErrOption is wrapped by Start when an option makes no sense.
var ErrOption = errors.New("invalid option")

// Options of a Server; the zero value and nil mean the defaults.
type Options struct {
	// Addr is the TCP address to listen on; default "127.0.0.1:0". With several
	// servers its port must be 0. Ignored with InMemory.
	Addr string
	// InMemory serves only through Server.Dial; no socket is opened.
	InMemory bool
	// Servers is 1 (the default, a standalone server), or the odd size of an
	// ensemble up to 9.
	Servers int
	// TickTime is the granularity of session expiry; default 2 s.
	TickTime time.Duration
	// MinSessionTimeout and MaxSessionTimeout bound what is granted; default 2
	// and 20 ticks.
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
	// OldServer refuses what came after ZooKeeper 3.5: addWatch, setWatches2,
	// multiRead, getEphemerals, getAllChildrenNumber, whoAmI.
	OldServer bool
	// StatNeedsRead refuses exists of a znode that the client may not read, as
	// servers from 3.9.3 on do. Before, everybody could see who owns what.
	StatNeedsRead bool
	// MaxFrame is the largest request in bytes; default 1048575. A larger one
	// closes the connection.
	MaxFrame int
	// Logger gets what the servers do, at level debug; default silent.
	Logger *slog.Logger
}

func (o *Options) filled() (Options, error) {
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
	case f.SyncLimit < 1 || f.MaxFrame < 1:
		return f, fmt.Errorf("zktest: SyncLimit or MaxFrame below 1: %w", ErrOption)
	}
	return f, nil
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
