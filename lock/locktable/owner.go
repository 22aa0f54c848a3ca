package locktable

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/mailbox"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Owner holds locks of a table. Release it with Release, even after a loss.
type Owner struct {
	t      *Table
	s      *session.Session
	hold   *session.Hold // of the owner's znode
	name   string        // of that znode; never used again by any client
	joined bool          // Join has created the znode, and Release deletes it
	// ctx is that of Context; attempts to take locks end with it. watching ends when
	// Release has returned what was held: until then losses are noticed.
	ctx      context.Context
	cancel   context.CancelCauseFunc
	watching context.Context
	unwatch  context.CancelCauseFunc
	end      holding.Release
	losses   *mailbox.Mailbox[string] // locks whose watches are to be set

	// mu guards what follows, and the ends of all locks. Invariant: a name is in at most
	// one of held and busy. A name in busy may be this owner's at the server although no
	// Held stands for it: an attempt, a release or a clean-up is in progress.
	mu   sync.Mutex
	held map[string]*Held
	busy map[string]struct{}
	// unsettled are those of busy that the clean-up has to look at. cleaning: there is
	// a goroutine for that.
	unsettled []string
	cleaning  bool
	// waiters are the acquirers that want a name which is held or busy.
	waiters map[string][]*Acquirer
	// noticing: there is a goroutine that sets the watches of held locks.
	noticing bool
	// most is how many locks a transaction has at most.
	most int
}

func newOwner(t *Table, hold *session.Hold) *Owner {
	o := &Owner{
		t: t, s: hold.Session(), hold: hold, name: znode.Base(hold.Path()), losses: mailbox.New[string](),
		held: map[string]*Held{}, busy: map[string]struct{}{}, waiters: map[string][]*Acquirer{}, most: batches.MaxOps,
	}
	o.ctx, o.cancel = hold.Derive()
	o.watching, o.unwatch = hold.Derive()
	return o
}

func (o *Owner) made() *Owner {
	holding.MustBeMade(o.t != nil, "locktable.Owner", "locktable.Table")
	return o
}

// Context ends with the owner, and with it end all its locks: context.Cause is
// session.ErrReleased after Release, otherwise it wraps session.ErrLost and the reason.
// The context ends before the servers can let another client take the locks, unless
// this process was paused; after a pause, its Err is correct as soon as the process runs
// again.
func (o *Owner) Context() context.Context { return o.made().ctx }

// Session returns the session of the owner.
func (o *Owner) Session() *session.Session { return o.made().s }

// Path returns the path of the owner's znode.
func (o *Owner) Path() string { return o.made().hold.Path() }

// Guard is a check for a transaction, which fails once the owner has gone. It says nothing
// of a single lock: see [Held.Guard].
func (o *Owner) Guard() session.Op { return o.made().hold.Guard() }

// begin checks what every method with a context checks first. The path is for errors.
func (o *Owner) begin(ctx context.Context) (path string, err error) {
	if o.t == nil {
		return "", holding.BeginHeld(ctx, false, "locktable.Owner", "locktable.Table", ErrInvalidArgument)
	}
	if err := holding.Begin(ctx, o.t.client, "locktable.New", nil, ErrInvalidArgument); err != nil {
		return o.t.path, err
	}
	if o.ctx.Err() != nil {
		return o.t.path, context.Cause(o.ctx)
	}
	return o.t.path, nil
}

// Release releases all locks of the owner in as few transactions as possible, and then
// deletes the owner's znode if [Table.Join] has created it. Attempts to take locks end.
// If the owner was lost before, the error wraps session.ErrLost and the reason; losses of
// single locks are reported too. If ctx ends before the server has confirmed the release,
// or no server answers for a session timeout (also session.ErrLost), the release
// continues in the background. A second call returns the same error, or ErrNotHeld.
func (o *Owner) Release(ctx context.Context) error {
	if err := holding.BeginHeld(ctx, o.t != nil, "locktable.Owner", "locktable.Table", ErrInvalidArgument); err != nil {
		return failure(ctx, "release", "", err)
	}
	explain := func(ctx context.Context, err error) error { return failure(ctx, "release", o.t.path, err) }
	return o.end.Once(ctx, ErrNotHeld, explain, o.release)
}

func (o *Owner) release(ctx context.Context) error {
	lost := o.hold.Err()
	o.cancel(session.ErrReleased) // first: what is released here, an acquirer would take again
	defer o.unwatch(session.ErrReleased)
	o.mu.Lock()
	all := make([]*Held, 0, len(o.held))
	for _, h := range o.held {
		all = append(all, h)
	}
	o.mu.Unlock()
	var err error
	switch {
	case lost == nil && len(all) > 0:
		err = o.unlock(ctx, all)
	case lost != nil:
		err = lost
	}
	if !o.joined {
		return err
	}
	if lost != nil {
		o.s.EnsureRemainsDeleted(o.hold.Path())
		return err
	}
	o.hold.End(session.ErrReleased)
	gone := holding.Delete(ctx, o.s, o.hold.Path())
	if err == nil {
		err = gone
	}
	return err
}

// claim marks names as busy, and returns those that were neither held nor busy. An
// acquirer, which may be nil, is told when one of the others is not any more.
func (o *Owner) claim(names []string, by *Acquirer) (claimed, others []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	claimed = make([]string, 0, len(names))
	for _, name := range names {
		_, busy := o.busy[name]
		if _, held := o.held[name]; held || busy {
			if others = append(others, name); by != nil && !slices.Contains(o.waiters[name], by) {
				o.waiters[name] = append(o.waiters[name], by)
			}
			continue
		}
		o.busy[name] = struct{}{}
		claimed = append(claimed, name)
	}
	return claimed, others
}

// forgetWaiter ends that an acquirer is told of these names.
func (o *Owner) forgetWaiter(a *Acquirer, names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range names {
		left := slices.DeleteFunc(o.waiters[name], func(w *Acquirer) bool { return w == a })
		if o.waiters[name] = left; len(left) == 0 {
			delete(o.waiters, name)
		}
	}
}

// wakeLocked tells the acquirers that wait for name.
func (o *Owner) wakeLocked(name string) {
	for _, a := range o.waiters[name] {
		a.orders.Post(order{idle: name})
	}
	delete(o.waiters, name)
}

// free ends that names are busy.
func (o *Owner) free(names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.freeLocked(names)
}

func (o *Owner) freeLocked(names []string) {
	for _, name := range names {
		delete(o.busy, name)
		if o.held[name] == nil {
			o.wakeLocked(name)
		}
	}
}

// register makes locks that were taken this owner's, and returns them in the order of names.
// Names that were claimed and not taken are free for other attempts. It fails, and does
// nothing, if the owner was lost or released meanwhile.
func (o *Owner) register(names []string, got map[string]*Held) ([]*Held, error) {
	out := make([]*Held, 0, len(got))
	o.mu.Lock()
	if o.ctx.Err() != nil { // Release has seen all that is held
		o.mu.Unlock()
		return nil, context.Cause(o.ctx)
	}
	for _, name := range names {
		if h := got[name]; h != nil {
			o.held[name] = h
			out = append(out, h)
		}
	}
	o.freeLocked(names)
	o.mu.Unlock()
	o.watchLosses(out)
	return out, nil
}

// limit is how many locks a transaction may have.
func (o *Owner) limit() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.most
}

// shrink notes that a transaction for n locks is longer than servers accept; false if it
// cannot be split.
func (o *Owner) shrink(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.most = max(1, min(o.most, n/2))
	return n > 1
}

// describe is what errors call several locks: the path of the first one, and how many
// there are.
func (o *Owner) describe(first string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s and %d more", o.t.at(first), n-1)
	}
	return o.t.at(first)
}
