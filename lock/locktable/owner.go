package locktable

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/mailbox"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Owner holds locks of a table. Release it with Release, even after a loss.
type Owner struct {
	t      *Table
	s      *session.Session
	hold   *session.Hold // of the owner's znode
	name   string        // of this znode; never used again by any client
	joined bool          // Join has created the znode, and Release deletes it
	// ctx is the result of Context; attempts to take locks end with ctx.
	// watching ends when Release has released all locks: until then losses are
	// noticed.
	ctx      context.Context
	cancel   context.CancelCauseFunc
	watching context.Context
	unwatch  context.CancelCauseFunc
	end      holding.Release
	losses   *mailbox.Mailbox[string] // locks whose watches are to be set

	// mu guards the fields below, and the ends of all locks. Invariant: a name
	// is in at most one of held and busy. A name in busy may belong to this
	// owner at the server without a Held: an attempt, a release or a clean-up is
	// in progress.
	mu   sync.Mutex
	held map[string]*Held
	busy map[string]struct{}
	// unsettled are the busy names for the clean-up. cleaning: the clean-up
	// goroutine runs.
	unsettled []string
	cleaning  bool
	// waiters are the acquirers that want a held or busy name.
	waiters waiters
	// noticing: a goroutine sets the watches of held locks.
	noticing bool
	// most is how many locks a transaction has at most.
	most int
	// reports has the holds to report; see observeHolds. unobserve ends the report of
	// losses.
	reports   reports
	unobserve func() bool
}

func newOwner(t *Table, hold *session.Hold) *Owner {
	o := &Owner{
		t: t, s: hold.Session(), hold: hold, name: znode.Base(hold.Path()), losses: mailbox.New[string](),
		held: map[string]*Held{}, busy: map[string]struct{}{}, waiters: newWaiters(), most: batches.MaxOps,
	}
	o.ctx, o.cancel = hold.Derive()
	o.watching, o.unwatch = hold.Derive()
	o.observeHolds()
	return o
}

func (o *Owner) mustBeMade() *Owner {
	holding.MustBeMade(o != nil && o.t != nil, "locktable.Owner", "locktable.Table")
	return o
}

// Context ends with the owner, and with it end all its locks: context.Cause is
// session.ErrReleased after Release, otherwise it wraps session.ErrLost and the reason.
// The context ends before the servers can let another client take the locks, unless
// this process was paused; after a pause, its Err is correct as soon as the process runs
// again.
func (o *Owner) Context() context.Context { return o.mustBeMade().ctx }

// Session returns the session of the owner.
func (o *Owner) Session() *session.Session { return o.mustBeMade().s }

// Path returns the path of the owner's znode.
func (o *Owner) Path() string { return o.mustBeMade().hold.Path() }

// Guard is a check for a transaction; the transaction fails once the owner has
// gone. For a single lock, see [Held.Guard].
func (o *Owner) Guard() session.Op { return o.mustBeMade().hold.Guard() }

// checkCall makes the common checks of methods with a context. The path is for
// errors.
func (o *Owner) checkCall(ctx context.Context) (path string, err error) {
	if o == nil || o.t == nil {
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
	o = receiver.OrZero(o)
	if err := holding.BeginHeld(ctx, o.t != nil, "locktable.Owner", "locktable.Table", ErrInvalidArgument); err != nil {
		return failure(ctx, "release", "", err)
	}
	explain := func(ctx context.Context, err error) error { return failure(ctx, "release", o.t.path, err) }
	return o.end.Once(ctx, ErrNotHeld, explain, o.releaseAll)
}

func (o *Owner) releaseAll(ctx context.Context) error {
	lost := o.hold.Err()
	o.cancel(session.ErrReleased) // first, because an acquirer would take the released locks again
	defer o.unwatch(session.ErrReleased)
	defer o.unobserve()
	o.mu.Lock()
	all := make([]*Held, 0, len(o.held))
	for _, h := range o.held {
		all = append(all, h)
	}
	o.mu.Unlock()
	var err error
	switch {
	case lost == nil && len(all) > 0:
		// A call that waited for more locks ends now, too, and releases those that it has.
		err = o.unlockHeld(ctx, all, true)
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

// claimNames marks names as busy, and returns the names that were neither held nor
// busy. An acquirer, which may be nil, is told when one of the other names is
// free again.
func (o *Owner) claimNames(names []string, by *Acquirer) (claimed, others []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	claimed = make([]string, 0, len(names))
	for _, name := range names {
		_, busy := o.busy[name]
		if _, held := o.held[name]; held || busy {
			if others = append(others, name); by != nil {
				o.waiters.add(name, by)
			}
			continue
		}
		o.busy[name] = struct{}{}
		claimed = append(claimed, name)
	}
	return claimed, others
}

// forgetWaiter stops the notices to an acquirer about these names.
func (o *Owner) forgetWaiter(a *Acquirer, names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range names {
		o.waiters.remove(name, a)
	}
}

// wakeLocked notifies the acquirers waiting for name.
func (o *Owner) wakeLocked(name string) {
	for _, a := range o.waiters.takeAll(name) {
		a.orders.Post(order{idle: name})
	}
}

// freeNames marks names as no longer busy.
func (o *Owner) freeNames(names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.freeNamesLocked(names)
}

func (o *Owner) freeNamesLocked(names []string) {
	for _, name := range names {
		delete(o.busy, name)
		if o.held[name] == nil {
			o.wakeLocked(name)
		}
	}
}

// registerHeld adds taken locks to this owner, and returns them in the order of
// names. Claimed names that were not taken are free for other attempts.
// registerHeld fails without effect if the owner was lost or released meanwhile. The caller
// reports the beginnings of the holds in begun.
func (o *Owner) registerHeld(names []string, got map[string]*Held, begun reports) ([]*Held, error) {
	out := make([]*Held, 0, len(got))
	o.mu.Lock()
	if o.ctx.Err() != nil { // Release has already collected the held locks
		o.mu.Unlock()
		return nil, context.Cause(o.ctx)
	}
	for _, name := range names {
		if h := got[name]; h != nil {
			o.held[name] = h
			out = append(out, h)
		}
	}
	maps.Copy(o.reports, begun)
	o.freeNamesLocked(names)
	o.mu.Unlock()
	o.watchLosses(out)
	return out, nil
}

// maxLocksPerTxn is the largest number of locks in a transaction.
func (o *Owner) maxLocksPerTxn() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.most
}

// shrinkTxns notes that a transaction for n locks is longer than servers accept;
// false if the transaction cannot be split.
func (o *Owner) shrinkTxns(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.most = max(1, min(o.most, n/2))
	return n > 1
}

// describeLocks names several locks in errors: the path of the first lock, and the
// number of the others.
func (o *Owner) describeLocks(first string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s and %d more", o.t.lockPath(first), n-1)
	}
	return o.t.lockPath(first)
}
