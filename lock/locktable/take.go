package locktable

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// checks is the number of operations in front of the operations that take
// locks.
const checks = 2

// attempt is an attempt to take locks.
type attempt struct {
	o     *Owner
	watch bool // watch locks of other owners
	// got has the locks taken, or already owned by this owner. others has the
	// locks held by other owners or by a Held of this owner, each with a watch
	// set at that time. owners are the live holders, with a watch on each.
	got    map[string]*Held
	others map[string]entry
	owners map[string]*session.Watch
	// swept is the version of the folder when the locks were read, or before. A
	// lock that is removed and created again repeats its versions. So a client
	// that removes a lock also changes the folder, and no client mistakes the
	// new lock for the removed lock.
	swept int32
	// wrote: a transaction was sent, so locks missing in got may have been
	// taken.
	wrote bool
	// unread: the locks that are being taken were not read. mixed: some locks have
	// znodes, so that all others are read.
	unread, mixed bool
}

// takeLocks tries to take the locks of these claimed names, until the holder of each
// lock is known. takeLocks can be repeated without preparation, because it reads the
// effect of an unanswered transaction. Locks taken before an error are in got.
func (o *Owner) takeLocks(ctx context.Context, names []string, watch bool) (*attempt, error) {
	a := &attempt{o: o, watch: watch, got: map[string]*Held{}, others: map[string]entry{}, owners: map[string]*session.Watch{}}
	for part := range batches.OfNames(names) {
		for len(part) > 0 {
			err := o.s.Retry(ctx, func() (err error) {
				part, err = a.takePart(ctx, part)
				return err
			})
			if err != nil {
				a.stopWatches()
				return a, err
			}
		}
	}
	return a, nil
}

// stopWatches ends all watches.
func (a *attempt) stopWatches() {
	for _, e := range a.others {
		e.stopWatch()
	}
	for _, w := range a.owners {
		stopWatch(w)
	}
}

// takePart reads locks, and takes the free locks. It returns the names to read
// again.
func (a *attempt) takePart(ctx context.Context, names []string) (again []string, err error) {
	entries, missing, err := a.readOrSample(ctx, names)
	switch {
	case err != nil:
		return names, err
	case missing:
		a.unread = true
		defer func() { a.unread = false }()
		return a.writeLocks(ctx, newEntries(names))
	}
	gone, err := a.o.findGone(ctx, entries, a.owners, a.watch)
	if err != nil {
		stopAll(entries)
		return names, err
	}
	var free []entry
	for _, e := range entries {
		switch {
		case e.Owner == a.o.name:
			e.stopWatch()
			a.got[e.Name] = a.o.newHeld(&e, e.version, e.Token)
		case e.isFree(gone):
			e.abandonWatch()
			free = append(free, e)
		default:
			a.others[e.Name] = e
		}
	}
	return a.writeLocks(ctx, free)
}

func (o *Owner) newHeld(e *entry, version int32, token int64) *Held {
	return &Held{o: o, name: e.Name, version: version, token: token, kept: e.kept}
}

// manyLocks is how many locks are tried without a read of each; samples is how many of them
// are read.
const (
	manyLocks = 64
	samples   = 3
)

// readOrSample reads locks, and the version of their folder. Of many locks it reads a few
// first: if none of these has a znode, missing is true, and the locks are to be created. A
// transaction that creates a lock fails if the lock exists, so a wrong guess costs a
// transaction, and then a read of each lock.
func (a *attempt) readOrSample(ctx context.Context, names []string) (entries []entry, missing bool, err error) {
	if len(names) < manyLocks || a.mixed {
		entries, err = a.readLocks(ctx, names)
		return entries, false, err
	}
	var sample, rest []string
	for i, name := range names {
		if i%((len(names)-1)/(samples-1)) == 0 {
			sample = append(sample, name)
		} else {
			rest = append(rest, name)
		}
	}
	entries, err = a.readLocks(ctx, sample)
	if err != nil {
		return nil, false, err
	}
	if !slices.ContainsFunc(entries, func(e entry) bool { return e.exists }) {
		return nil, true, nil
	}
	a.mixed = true
	more, err := a.o.t.readLocks(ctx, a.o.s, rest, a.watch)
	if err != nil {
		stopAll(entries)
		return nil, false, err
	}
	return append(entries, more...), false, nil
}

// newEntries are locks without znodes.
func newEntries(names []string) []entry {
	out := make([]entry, len(names))
	for i, name := range names {
		out[i] = entry{Entry: Entry{Name: name}}
	}
	return out
}

// readLocks reads locks, and the version of their folder.
func (a *attempt) readLocks(ctx context.Context, names []string) ([]entry, error) {
	t := a.o.t
	folder := a.o.s.StartExists(t.path, false)
	reads := t.startReads(a.o.s, names, a.watch)
	r := optimistic.Reading{Ctx: ctx}
	a.swept = r.Seen(folder).Stat.Version
	return t.collectEntries(&r, names, reads)
}

// writeLocks takes free locks, in transactions that fail once the owner has gone. A
// lock taken meanwhile by another client fails its transaction, and is read
// again; the other locks are tried again without it.
func (a *attempt) writeLocks(ctx context.Context, free []entry) (again []string, err error) {
	for len(free) > 0 {
		var next []entry
		parts := slices.Collect(batches.Of(free, a.o.maxLocksPerTxn(), batches.MaxTxn, a.estimateSize()))
		futures := make([]*session.Future[[]session.Result], len(parts))
		a.wrote = true
		for i, part := range parts {
			futures[i] = a.o.s.StartTxn(a.takeOps(part)...)
		}
		for i, part := range parts {
			results, e := futures[i].Wait(ctx)
			if e == nil {
				a.noteTaken(part, results)
				continue
			}
			culprit, loser := optimistic.CulpritIndex(e), a.changedIndex(part, e)
			switch {
			case culprit == 1 && errors.Is(e, session.ErrBadVersion): // some were removed
				again = append(again, namesOf(part)...)
			case loser >= 0 && a.unread:
				again, a.mixed = append(again, namesOf(part)...), true
			case loser >= 0:
				again = append(again, part[loser].Name)
				next = append(append(next, part[:loser]...), part[loser+1:]...)
			case errors.Is(e, session.ErrTooLarge) && a.o.shrinkTxns(len(part)): // not sent
				next = append(next, part...)
			default:
				if culprit == 0 && errors.Is(e, session.ErrNoNode) {
					e = a.o.goneError()
				}
				// The next try reads the effect, when there is a connection.
				a.mixed = true
				again, err = append(again, namesOf(part)...), errors.Join(err, e)
			}
		}
		if free = next; err != nil {
			return append(again, namesOf(free)...), err
		}
	}
	return again, nil
}

// estimateSize estimates the length of the operations that take a lock.
func (a *attempt) estimateSize() func(entry) int {
	mine := batches.PerOp + len(a.o.t.path) + len((&record{Format: format, Client: a.o.name}).Encode())
	return func(e entry) int {
		n := mine + len(e.Name)
		if !e.kept.Empty() {
			n += len((&record{Kept: e.kept}).Encode())
		}
		if !e.exists {
			n += batches.PerOp + len(a.o.t.path) + len(e.Name)
		}
		return n
	}
}

// takeOps are the operations of a transaction that takes locks. Only a set returns
// its zxid, so created znodes are also set.
func (a *attempt) takeOps(free []entry) []session.Op {
	t := a.o.t
	ops := []session.Op{a.o.hold.Guard(), session.CheckOp(t.path, a.swept)}
	for _, e := range free {
		path := t.lockPath(e.Name)
		if !e.exists {
			ops = append(ops, session.CreateOp(path, nil, session.Persistent, t.createOptions()))
		}
		mine := (&record{Format: format, Client: a.o.name, Kept: e.kept}).Encode()
		ops = append(ops, session.SetOp(path, mine, e.version))
	}
	return ops
}

// noteTaken records the locks taken by a transaction.
func (a *attempt) noteTaken(part []entry, results []session.Result) {
	i := checks
	for _, e := range part {
		if !e.exists {
			i++
		}
		a.got[e.Name] = a.o.newHeld(&e, results[i].Stat.Version, results[i].Stat.Mzxid)
		i++
	}
}

// changedIndex is the index of the lock that failed a transaction because another
// client has changed the lock; -1 for other failures.
func (a *attempt) changedIndex(part []entry, err error) int {
	at := optimistic.CulpritIndex(err)
	if at < checks || !isStale(err) {
		return -1
	}
	i := checks
	for n, e := range part {
		if i++; !e.exists {
			i++
		}
		if at >= i {
			continue
		}
		if !e.exists && errors.Is(err, session.ErrNoNode) {
			return -1 // the folder of the locks has gone
		}
		return n
	}
	return -1
}

func namesOf(entries []entry) []string {
	out := make([]string, len(entries))
	for i := range entries {
		out[i] = entries[i].Name
	}
	return out
}
