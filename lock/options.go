package lock

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// DefaultLocalHandover is the default of [Options.LocalHandover].
const DefaultLocalHandover = 50 * time.Millisecond

// DefaultMaxQueue is the default of [Options.MaxQueue].
const DefaultMaxQueue = 256

// Options of a [Mutex] or [Semaphore]; nil and the zero value mean all
// defaults.
type Options struct {
	// ID describes the contender to other clients; it is the data of the znodes.
	// Default: host name, colon, process id.
	ID string
	// Data is shown to other clients instead of ID. Kazoo shows Data as the
	// identifier, Curator as the participant's node data.
	Data []byte
	// Layout of the names written by a Mutex; default: Curator.
	Layout Layout
	// LocalHandover bounds the time for which goroutines that share a Mutex hand
	// the lock over among themselves, before the lock goes back to the server and
	// to other processes. The time counts from the grant at the server. Default:
	// DefaultLocalHandover. Negative: no local hand-over.
	LocalHandover time.Duration
	// LockDelay is the pause of a Mutex before it grants a lock that its last
	// holder has lost instead of released (a crash, an expired session). During
	// the pause, work that the last holder still has in flight outside ZooKeeper
	// can end. LockDelay costs two more requests per acquire, and a persistent
	// znode beside the path, "<path>.delay". All clients of the path must set
	// LockDelay. In doubt the pause is made, for example after a contender that
	// gave up at the very instant of its grant. Default: none.
	LockDelay time.Duration
	// MaxQueue is how many contenders may queue at the path, besides as many as a
	// Semaphore has permits. A client that finds more waits beside the path, in
	// "<path>.waiting", until few are ahead: every contender lists the queue, and n
	// contenders that come at once would read n² names. The order is then that in which
	// they come back to the path, which is that of their arrival, also if some of them
	// give up or die. There are three exceptions: clients with a slow connection may be
	// overtaken; while fewer than one and a half times MaxQueue wait, a client that
	// comes may pass as many others as have given up; and if more neighbors than that
	// give up, those behind them may pass others. The queue at the path may be two and a
	// half times as long as MaxQueue. Not for CuratorV2. Default: DefaultMaxQueue.
	// Negative: all queue at the path.
	MaxQueue int
	// Grace is the time for the function of [Mutex.Do] and [Semaphore.Do] to
	// finish its work after the end of the context passed to Do: the function's
	// own context ends Grace later, with the same cause. A loss of the lock ends
	// the function's context at once, before and during the grace; so does the
	// loss or the release of any other hold that the context is derived from.
	// Default: 0, the function's context ends with the passed context.
	Grace time.Duration
	// ACL of the znodes; default: the client's. All contenders must be allowed
	// to read the znodes: a wait behind an unreadable znode fails with
	// session.ErrNoAuth.
	ACL []session.ACL
	// CuratorV2 makes a Semaphore use the znodes of Curator's
	// InterProcessSemaphoreV2.
	CuratorV2 bool
}

// withDefaults checks o and fills in defaults.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.LockDelay < 0 {
		return out, fmt.Errorf("%w: LockDelay is %v; it must be 0 or more", ErrInvalidArgument, out.LockDelay)
	}
	if err := holding.CheckGrace(out.Grace, ErrInvalidArgument); err != nil {
		return out, err
	}
	if _, err := out.Layout.nameMaker(); err != nil {
		return out, err
	}
	if out.MaxQueue == 0 {
		out.MaxQueue = DefaultMaxQueue
	}
	if out.LocalHandover == 0 {
		out.LocalHandover = DefaultLocalHandover
	}
	out.Data, out.ACL = bytes.Clone(out.Data), slices.Clone(out.ACL) // the caller may change them
	if out.Data == nil {
		if out.ID == "" {
			out.ID = holding.DefaultID()
		}
		out.Data = []byte(out.ID)
	}
	return out, nil
}
