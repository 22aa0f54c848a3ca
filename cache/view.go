package cache

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// View is the common part of [Value], [Children] and [Tree]: a local copy of some
// znodes, which [View.Run] keeps up to date.
type View[T any] struct {
	client *session.Client
	path   string
	// eventPath is the path in events.
	eventPath string
	decode    Decode[T]
	err       error // of invalid arguments
	window    int   // reads in progress at most
	plain     bool  // one-shot watches only
	store     *store[T]

	// machine, synced, spare, reports, reported and id belong to the goroutine of Run.
	// synced is the session whose first reads were sent behind a sync; reported says that
	// an observer was told of a load, and id is 0 until an observer may hear of the view.
	machine  *machine
	synced   *session.Session
	spare    []item
	reports  *reporter
	reported bool
	id       uint64

	// mu guards the fields below; it is taken before store.mu. link is not nil while
	// Run is in a session.
	mu      sync.Mutex
	running bool
	link    *link
	asOf    time.Time
	exists  bool
	pending int
}

// link tells whether a view follows the present connection.
type link struct {
	s     *session.Session
	inbox *inbox
	// since is the start of the connection that the view follows by its subscription,
	// which hears late of the next connection. It is zero for one-shot watches: they
	// fire before any caller hears that the connection is lost, and the first read may
	// find a later connection than the one at the start. clean says that the view had
	// handled all items that it knew of. View.mu guards both.
	since time.Time
	clean bool
}

// follows reports whether the view follows the connection that the client has in state.
func (l *link) follows(state session.State) bool {
	if l.s.ReadOnly() {
		return state.ReadOnly != "" && l.s.Err() == nil
	}
	same := state.Session == l.s.ID() && (l.since.IsZero() || state.Since.Equal(l.since))
	return same && state.Status == session.Connected
}

// window is how many reads are in progress at once. A server answers some ten thousand
// a second, so a round trip of milliseconds is covered; the window also limits the
// backlog of a client that is slow to take the answers.
const window = 512

// shape says which kind of view it is.
type shape struct {
	bare  bool
	depth int
	plain bool
}

func newView[T any](client *session.Client, path string, decode Decode[T], o *Options, sh shape) *View[T] {
	opts, err := o.withDefaults()
	v := &View[T]{client: client, path: path, eventPath: cmp.Or(opts.EventPath, path), decode: decode, window: window, plain: sh.plain}
	switch {
	case err != nil:
	case client == nil:
		err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	case decode == nil:
		err = fmt.Errorf("%w: decode is nil", ErrInvalidArgument)
	case sh.depth >= 0 && opts.MaxDepth != 0:
		err = fmt.Errorf("%w: MaxDepth is %d; it must be 0 for anything but a Tree", ErrInvalidArgument, opts.MaxDepth)
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
	return fmt.Errorf("%w: %w", ErrInvalidArgument, err)
}

// constructors are the names of the functions that make a view.
const constructors = "cache.NewValue, NewChildren or NewTree"

// orZero returns v, or, for a zero value, which no constructor has made, an empty view
// whose methods return an error.
func (v *View[T]) orZero() *View[T] {
	if v != nil && v.store != nil {
		return v
	}
	v = newView[T](nil, "", nil, nil, shape{})
	v.err = holding.NoClient(constructors, ErrInvalidArgument)
	return v
}

func (v *View[T]) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, v.client, constructors, v.err, ErrInvalidArgument)
}

// Path returns the path of the view.
func (v *View[T]) Path() string { return v.orZero().path }

// Lookup finds the entry of a full path, without waiting: before the end of the
// initial load, and while ZooKeeper is away, it returns the known state.
func (v *View[T]) Lookup(path string) (Entry[T], bool) { return v.orZero().store.lookup(path) }

// Snapshot returns the present state of the view. A snapshot costs nothing if
// nothing has changed since the last one, and otherwise a copy of a list of
// pointers.
func (v *View[T]) Snapshot() *Snapshot[T] { return v.orZero().store.snapshot() }

// All iterates over the entries of the present snapshot, in the order of their
// paths.
func (v *View[T]) All() iter.Seq[Entry[T]] { return v.orZero().store.snapshot().All() }

// Len returns the number of entries.
func (v *View[T]) Len() int { return v.orZero().store.len() }

// Events iterates over the changes of the view: first a snapshot, as soon as the
// view has been synced once, then each change in order. The changes of one path
// come in their order, an addition after the addition of its parent, a removal
// before the removal of its parent. A reader that falls behind by more than
// [Options.Buffer] gets a new snapshot instead of the missed changes; no other
// reader waits for it.
//
// Each event, applied to the state before, gives a state that the view had.
//
// Events ends with ctx, or when the view cannot continue (see [View.Run]); the
// reason is the last element. Events runs in the caller's goroutine, and Run need
// not run all the time.
func (v *View[T]) Events(ctx context.Context) iter.Seq2[Event[T], error] {
	v = v.orZero()
	explain := func(err error) error { return failure(ctx, "events", v.path, err) }
	events := v.store.events(ctx, explain)
	return func(yield func(Event[T], error) bool) {
		if err := v.checkCall(ctx); err != nil {
			yield(Event[T]{}, explain(err))
			return
		}
		events(yield)
	}
}

// WaitSynced waits until [Status.Synced] is true. It fails if ctx ends first, and
// if the view cannot continue (see [View.Run]). If Run is not running, WaitSynced
// waits for it.
func (v *View[T]) WaitSynced(ctx context.Context) error {
	const op = "wait synced"
	v = v.orZero()
	if err := v.checkCall(ctx); err != nil {
		return failure(ctx, op, v.path, err)
	}
	for {
		v.store.mu.Lock()
		changed, over := v.store.changes.Next(), v.store.over
		v.store.mu.Unlock()
		if over != nil {
			return failure(ctx, op, v.path, over)
		}
		if v.Status().Synced {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return failure(ctx, op, v.path, context.Cause(ctx))
		}
	}
}

// Status says how reliable the view is at this moment.
func (v *View[T]) Status() Status {
	v = v.orZero()
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
		st.Synced = v.proveLocked() && l.follows(state)
		st.ReadOnly = st.Synced && l.s.ReadOnly()
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

// proveLocked moves asOf on if Run has no item left to handle, and reports whether it
// has none. A connection is not needed: answers on the last connection are a proof
// until a new connection begins, and the first item that is put into the inbox then
// reports the new connection.
func (v *View[T]) proveLocked() bool {
	// In this order: the events that the server sent before the newest answer are in
	// the inbox, or have been handled.
	heard := lastHeard(v.link.s)
	if !v.link.clean || !v.link.inbox.empty() {
		return false
	}
	v.setProvenLocked(heard)
	return true
}

func (v *View[T]) setProvenLocked(at time.Time) {
	if at.After(v.asOf) {
		v.asOf = at
	}
}

// lastHeard is when the newest request was sent that the server has answered.
func lastHeard(s *session.Session) time.Time { return s.LastHeard() }
