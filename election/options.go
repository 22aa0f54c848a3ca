package election

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// DefaultMaxQueue is the default of [Options.MaxQueue].
const DefaultMaxQueue = 256

// MaxPriority is the highest [Options.Priority].
const MaxPriority = lockformat.MaxPriority

// Options of an [Elector]; nil and the zero value mean all defaults.
type Options struct {
	// ID describes the candidate to other clients; valid UTF-8. Default: host
	// name, colon, process id.
	ID string
	// Data is the data of the candidate's znode, which other clients see;
	// default: the ID. With Data, the candidate is seen without its ID, unless
	// Data contains the ID. A whole request must fit into the servers'
	// jute.maxbuffer (1,048,575 bytes by default): otherwise campaigning fails
	// with session.ErrTooLarge.
	Data []byte
	// Layout of the names that candidates write; default: LeaderLatch.
	Layout Layout
	// MaxQueue is how many candidates may queue at the path. A client that finds more
	// waits beside the path, in "<path>.waiting", until few are ahead: every candidate
	// lists the queue, and n candidates that come at once would read n² names. The queue at
	// the path may be two and a half times as long. Clients of other libraries do not see those that wait beside the path. Default:
	// DefaultMaxQueue. Negative: all queue at the path.
	MaxQueue int
	// Priority decides who leads next among the candidates that have one: when the place of the
	// leader becomes free, the waiting candidate with the highest priority leads, and of equal
	// ones the one that came first. A leader is not deposed by a candidate with a higher
	// priority, unless it has PreemptAfter. From 1 to MaxPriority.
	//
	// Default: 0, no priority. Such a candidate leads in its turn, as those of Curator, Kazoo and
	// earlier versions do, whatever priorities the candidates behind it have; so give all
	// candidates of an election a priority, or none.
	Priority int
	// PreemptAfter asks this candidate, when it leads, to make way for a waiting candidate with
	// a higher priority, but not before it has led for this long: [Elector.Run] then ends the
	// context of its function with the cause ErrPreempted, resigns when the function has
	// returned, and campaigns again. See [Leadership.AwaitPreemption] for leaders without Run.
	// Default: 0, the leader makes way for no candidate. It requires a Priority.
	PreemptAfter time.Duration
	// Grace is how long the function of [Elector.Run] may go on after the context
	// that was passed to Run has ended, to finish work in progress: only then the
	// function's own context ends, with the same cause. A loss of the leadership ends
	// it at once, before the grace and in it; so does the loss or the release of
	// anything else held that the context is derived from. Default: 0, the function's
	// context ends with the one that was passed.
	Grace time.Duration
	// ACL of the znodes; default: the client's. All candidates must be allowed to
	// create, delete and list the children of the path, and to read them.
	ACL []session.ACL
}

// withDefaults checks o and fills in the defaults.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if _, err := out.Layout.newName(); err != nil {
		return out, err
	}
	if err := out.checkPriority(); err != nil {
		return out, err
	}
	if err := holding.CheckGrace(out.Grace, ErrInvalidArgument); err != nil {
		return out, err
	}
	if !utf8.ValidString(out.ID) {
		return out, fmt.Errorf("%w: ID is %q, which is not valid UTF-8", ErrInvalidArgument, out.ID)
	}
	if out.MaxQueue == 0 {
		out.MaxQueue = DefaultMaxQueue
	}
	if out.ID == "" {
		out.ID = holding.DefaultID()
	}
	out.Data, out.ACL = slices.Clone(out.Data), slices.Clone(out.ACL) // the caller may change them
	if out.Data == nil {
		out.Data = []byte(out.ID)
	}
	return out, nil
}
