package lock

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// DefaultLocalHandover is how long goroutines of one process hand a lock on
// among themselves unless [Options.LocalHandover] says otherwise.
const DefaultLocalHandover = 50 * time.Millisecond

// Options of a [Mutex] or [Semaphore]; nil and the zero value mean all
// defaults.
type Options struct {
	// ID says to others who holds or waits; it is the data of the znodes.
	// Default: host name, colon, process id.
	ID string
	// Data is shown to others instead of ID. Kazoo shows it as the
	// identifier, Curator as the participant's node data.
	Data []byte
	// Layout of the names that a Mutex writes; default: Curator.
	Layout Layout
	// LocalHandover is how long, counted from when it was won at the server,
	// a lock is handed on among the goroutines that share a Mutex before it
	// goes back to the server and to other processes; default:
	// DefaultLocalHandover. Negative: never handed on.
	LocalHandover time.Duration
	// LockDelay is how long a Mutex waits before it grants a lock that its
	// last holder has not released but lost (a crash, an expired session):
	// time for what that holder still has under way, outside ZooKeeper, to
	// come to an end. It costs two more requests to acquire, and a persistent
	// node beside the path, "<path>.delay". All who use the path must set it.
	// In doubt it is paid: also after a contender that gave up in the very
	// instant in which it was granted the lock. Default: none.
	LockDelay time.Duration
	// ACL of the znodes; default: the client's.
	ACL []session.ACL
	// CuratorV2 makes a Semaphore use the znodes of Curator's
	// InterProcessSemaphoreV2.
	CuratorV2 bool
}

// withDefaults checks o and fills in what it leaves open.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.LockDelay < 0 {
		return out, fmt.Errorf("%w: LockDelay is %v; it must be 0 or more", ErrArgument, out.LockDelay)
	}
	if _, err := out.Layout.name(); err != nil {
		return out, err
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
