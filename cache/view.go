package cache

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// View is what [Value], [Children] and [Tree] have in common: a local copy of
// some znodes, which [View.Run] keeps up to date.
type View[T any] struct {
	client *session.Client
	path   string
	decode Decode[T]
	err    error // what is wrong with the arguments
	window int   // reads under way at most
	plain  bool  // one-shot watches only
	store  *store[T]

	// machine, synced and spare belong to the goroutine of Run. synced is
	// the session whose first reads were sent behind a sync.
	machine *machine
	synced  *session.Session
	spare   []item

	// mu guards what follows; it is taken before store.mu. link is not nil
	// while Run is in a session.
	mu      sync.Mutex
	running bool
	link    *link
	asOf    time.Time
	exists  bool
	pending int
}

// link is what tells whether a view follows the present connection.
type link struct {
	s     *session.Session
	inbox *inbox
	// since is when the connection began that the view follows by its
	// subscription, which is told late of the next one; zero for one-shot
	// watches: they fire before anybody hears that their connection is lost,
	// and the first read may find a later one than there was at the start.
	// clean says that the view had dealt with all that it knew of. View.mu
	// guards them.
	since time.Time
	clean bool
}

// window is how many reads are under way at once. A server answers some ten
// thousand a second, so a round trip of milliseconds is covered, and a client
// that is slow to take the answers has it limited.
const window = 512

// shape says which kind of view it is.
type shape struct {
	bare  bool
	depth int
	plain bool
}

func newView[T any](client *session.Client, path string, decode Decode[T], o *Options, sh shape) *View[T] {
	opts, err := o.withDefaults()
	v := &View[T]{client: client, path: path, decode: decode, window: window, plain: sh.plain}
	switch {
	case err != nil:
	case client == nil:
		err = fmt.Errorf("%w: the client is nil", ErrArgument)
	case decode == nil:
		err = fmt.Errorf("%w: decode is nil", ErrArgument)
	case sh.depth >= 0 && opts.MaxDepth != 0:
		err = fmt.Errorf("%w: MaxDepth is %d; it must be 0 for anything but a Tree", ErrArgument, opts.MaxDepth)
	default:
		err = argument(session.ValidatePath(path))
	}
	v.err = err
	if sh.depth < 0 && opts.MaxDepth > 0 {
		sh.depth = opts.MaxDepth
	}
	v.store = newStore[T](opts.Buffer)
	v.machine = newMachine(path, sh.bare, sh.depth, opts.Filter)
	return v
}

func argument(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrArgument, err)
}

// Path is the path that the view was made with.
func (v *View[T]) Path() string { return v.path }

// Lookup finds the entry of a full path. It never waits: before the initial load
// is done, and while ZooKeeper is away, it is what is known.
func (v *View[T]) Lookup(path string) (Entry[T], bool) { return v.store.lookup(path) }

// Snapshot is the view as it is now. It costs nothing unless something has
// changed since the last one, and then the copying of a list of pointers.
func (v *View[T]) Snapshot() *Snapshot[T] { return v.store.snapshot() }

// All iterates over the entries of the present snapshot, in the order of their
// paths.
func (v *View[T]) All() iter.Seq[Entry[T]] { return v.store.snapshot().All() }

// Len is the number of entries.
func (v *View[T]) Len() int { return v.store.len() }

// Events iterates over what becomes of the view: first a snapshot, as soon as
// the view has been synced once, then each change, in order: of one path in the
// order of its changes, an addition after that of its parent, a removal before
// that of its parent. A reader that is slower than the changes, by more than
// [Options.Buffer], gets a new snapshot in place of those that it has missed;
// nobody else waits for it, or notices.
//
// Applied to what came before, each event gives a state that the view had.
//
// It ends with ctx, or when the view cannot go on (see [View.Run]); why is the
// last element. It runs in the caller's goroutine, and does not need Run to be
// under way all the time.
func (v *View[T]) Events(ctx context.Context) iter.Seq2[Event[T], error] {
	if v.err != nil {
		return func(yield func(Event[T], error) bool) { yield(Event[T]{}, failure(ctx, "events", v.path, v.err)) }
	}
	return v.store.events(ctx, func(err error) error { return failure(ctx, "events", v.path, err) })
}

// WaitSynced waits until [Status.Synced] holds. It fails when ctx ends first,
// and when the view cannot go on (see [View.Run]). It does not fail for a view
// that nobody runs: it waits for that too.
func (v *View[T]) WaitSynced(ctx context.Context) error {
	const op = "wait synced"
	if ctx.Err() != nil {
		return failure(ctx, op, v.path, context.Cause(ctx))
	}
	if v.err != nil {
		return failure(ctx, op, v.path, v.err)
	}
	for {
		v.store.mu.Lock()
		moved, over := v.store.awaitLocked(), v.store.over
		v.store.mu.Unlock()
		if over != nil {
			return failure(ctx, op, v.path, over)
		}
		if v.Status().Synced {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return failure(ctx, op, v.path, context.Cause(ctx))
		}
	}
}

// Status says how far the view can be relied on at this moment.
func (v *View[T]) Status() Status {
	var st Status
	if v.client == nil {
		return Status{Stale: math.MaxInt64, Err: v.err}
	}
	state := v.client.State()
	st.Connected, st.Since = state.Status == session.Connected, state.Since
	v.mu.Lock()
	defer v.mu.Unlock()
	st.Running, st.Exists, st.Pending = v.running, v.exists, v.pending
	if l := v.link; l != nil {
		same := state.Session == l.s.ID() && (l.since.IsZero() || state.Since.Equal(l.since))
		st.Synced = v.proveLocked() && st.Connected && same
	}
	st.AsOf, st.Stale = v.asOf, math.MaxInt64
	if !v.asOf.IsZero() {
		st.Stale = time.Since(v.asOf)
	}
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	st.Entries, st.Loaded, st.Err = len(v.store.entries), v.store.loaded, v.store.over
	if v.err != nil {
		st.Err = v.err
	}
	return st
}

// proveLocked moves asOf on if there is nothing that Run has yet to deal with,
// and reports whether that is so. It does not matter to asOf whether there is a
// connection: what was heard on the last one is a proof as long as nothing was
// heard on another, and the first that is put into the inbox then is that there
// is one.
func (v *View[T]) proveLocked() bool {
	// In this order: what the server had told before the newest answer is in
	// the inbox, or has been dealt with.
	heard := heard(v.link.s)
	if !v.link.clean || !v.link.inbox.empty() {
		return false
	}
	v.provenLocked(heard)
	return true
}

func (v *View[T]) provenLocked(at time.Time) {
	if at.After(v.asOf) {
		v.asOf = at
	}
}

// heard is when the newest request was sent that the server has answered.
func heard(s *session.Session) time.Time { return time.Now().Add(-s.Silence()) }
