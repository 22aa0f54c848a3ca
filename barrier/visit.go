package barrier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// pass is a round that let a party through.
type pass struct {
	round   int64
	members spans // the numbers of all of the round
}

// await waits until v is let through. It returns errGone, errDoubt, ErrTooMany,
// ErrParties, ErrRecord, or what broke it off; the znode is there still, but for
// the first two.
func (v *visit) await(ctx context.Context) (pass, error) {
	for arrival, lost := true, 0; ; arrival = false { // lost: connections, in a row
		r, stat, watch, err := v.read(ctx)
		if err != nil {
			return pass{}, err
		}
		v.spent = watch.Fired()
		now := sight{record: r, count: int(stat.NumChildren), self: v.seq, id: v.id, arrival: arrival, gone: v.gone}
		d := decide(now)
		if d.act == actList {
			d, err = v.list(ctx, now)
		}
		if err == nil {
			var done *pass
			if done, err = v.act(ctx, now, stat, d, watch); done != nil {
				watch.Stop()
				return *done, nil
			}
		}
		watch.Stop() // of no effect, and free, once it has fired
		switch {
		case err == nil:
			lost = 0
		case !v.again(ctx, err):
			return pass{}, err
		case session.Unanswered(err):
			// A release that costs the connection each time must not be
			// repeated as fast as the network can. The next read says so if
			// ctx or the session ends over it.
			_ = v.s.BackOff(ctx, lost)
			lost++
		}
	}
}

// again reports whether err is only a lost connection, after which v looks again.
func (v *visit) again(ctx context.Context, err error) bool {
	return ctx.Err() == nil && v.s.Err() == nil && (session.NotSent(err) || session.Unanswered(err))
}

// read reads the record, and sets a watch on it. A path that has no record yet
// gets one.
func (v *visit) read(ctx context.Context) (record, session.Stat, *session.Watch, error) {
	for tries := 0; ; tries++ {
		seen, err := v.look(ctx)
		switch {
		case errors.Is(err, session.ErrNoNode):
			return record{}, session.Stat{}, nil, errDoubt
		case err != nil:
			return record{}, session.Stat{}, nil, err
		}
		if seen.Stat.Czxid > v.node.Stat.Czxid {
			// Another path of that name: v's went with its znode.
			seen.Watch.Stop()
			return record{}, session.Stat{}, nil, errDoubt
		}
		r, err := v.m.parse(seen.Data, seen.Stat)
		if err != nil {
			seen.Watch.Stop()
			return record{}, session.Stat{}, nil, err
		}
		v.m.note(r, seen.Stat)
		if len(seen.Data) > 0 {
			return r, seen.Stat, seen.Watch, nil
		}
		_, err = v.s.Set(ctx, v.m.path, r.encode(), seen.Stat.Version)
		seen.Watch.Stop()
		// Somebody else was faster, or nobody knows: read again.
		if err != nil && !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrNoNode) && !v.again(ctx, err) {
			return record{}, session.Stat{}, nil, err
		}
		_ = v.s.BackOff(ctx, tries) // as in await
	}
}

// look returns what was read behind the creation, the first time.
func (v *visit) look(ctx context.Context) (session.Seen, error) {
	if first := v.first; first != nil {
		v.first = nil
		return *first, nil
	}
	data, stat, watch, err := v.s.GetW(ctx, v.m.path)
	return session.Seen{Data: data, Stat: stat, Watch: watch}, err
}

// list decides with a listing. The roll, which a release goes on with, is read
// in the same round trip.
func (v *visit) list(ctx context.Context, now sight) (decision, error) {
	var old *session.Future[session.Seen]
	if v.m.kind == kindBarrier {
		old = v.s.StartGet(v.m.path+rollSuffix, false)
	}
	children, _, err := v.s.Children(ctx, v.m.path)
	if errors.Is(err, session.ErrNoNode) {
		return decision{act: actMissing}, nil
	}
	if err != nil {
		return decision{}, err
	}
	if old != nil {
		seen, err := old.Wait(ctx)
		v.noRoll = errors.Is(err, session.ErrNoNode)
		if err != nil && !v.noRoll {
			return decision{}, err
		}
		if v.roll, err = parseRoll(seen.Data); err != nil {
			return decision{}, fmt.Errorf("%s: %w", v.m.path+rollSuffix, err)
		}
	}
	var exhausted bool
	now.members, exhausted = parseMembers(children)
	if exhausted {
		return decision{}, fmt.Errorf("%s: %w", v.m.path, session.ErrSequenceExhausted)
	}
	if seq, ok := twins(now.members); ok {
		return decision{}, fmt.Errorf("%w: two of its children have the number %d", ErrRecord, seq)
	}
	now.listed = true
	return decide(now), nil
}

// act does what was decided. It returns the pass if v was let through; without
// one, and without an error, v must look again. watch is the record's.
func (v *visit) act(ctx context.Context, now sight, stat session.Stat, d decision, watch *session.Watch) (*pass, error) {
	switch d.act {
	case actPassed:
		return &pass{d.round, now.record.members(d.round)}, nil
	case actGone:
		return nil, errGone
	case actDoubt:
		return nil, errDoubt
	case actTooMany:
		return nil, fmt.Errorf("%w: all %d of round %d are inside, this is one more", ErrTooMany, v.m.parties, now.record.Round)
	case actMissing:
		v.gone = true
		return nil, nil
	case actRelease:
		return v.release(ctx, now.record, stat, d)
	case actSeats:
		return v.sleep(ctx, watch, now, &d.seats[int(v.seq)%len(d.seats)])
	}
	return v.sleep(ctx, watch, now, nil)
}

// release lets d's chosen through, in one transaction. What it deletes, or
// checks, is the proof that all of them are there at that instant: if one has
// left or died, nothing happens, and v looks again.
func (v *visit) release(ctx context.Context, r record, stat session.Stat, d decision) (*pass, error) {
	next, ops := v.releaseOps(r, stat.Version, d)
	_, err := v.s.Txn(ctx, ops...)
	switch {
	case err == nil:
		v.m.note(next, stat)
		if next.Released.contains(v.seq) {
			return &pass{next.Round, next.members(next.Round)}, nil
		}
		return nil, nil
	case errors.Is(err, session.ErrNoNode), errors.Is(err, session.ErrBadVersion), errors.Is(err, session.ErrNodeExists):
		return nil, nil
	}
	return nil, err // if nobody knows, it is in the record, or will not be
}

// releaseOps is the transaction that lets d's chosen through.
func (v *visit) releaseOps(r record, version int32, d decision) (record, []session.Op) {
	ops := make([]session.Op, 0, len(d.chosen)+len(d.stale)+2)
	seqs := make([]int32, 0, len(d.chosen))
	for _, c := range d.chosen {
		seqs = append(seqs, c.seq)
		path := znode.Join(v.m.path, c.name)
		if v.m.kind == kindDouble {
			ops = append(ops, session.CheckOp(path, -1)) // it stays, as a seat
		} else {
			ops = append(ops, session.DeleteOp(path, -1))
		}
	}
	for _, c := range d.stale {
		ops = append(ops, session.DeleteOp(znode.Join(v.m.path, c.name), -1))
	}
	next := r.next(seqs)
	if v.m.kind == kindBarrier {
		ops = append(ops, v.rollOp(v.roll.next(next.Round, d.chosen)))
	}
	return next, append(ops, session.SetOp(v.m.path, next.encode(), version))
}

func (v *visit) rollOp(to roll) session.Op {
	path := v.m.path + rollSuffix
	if v.noRoll {
		return session.CreateOp(path, to, session.Persistent, &session.CreateOptions{ACL: v.m.opts.ACL})
	}
	return session.SetOp(path, to, -1) // the record's version guards it
}

// sleep waits until watch says that the record has changed, or that v must look
// again: its znode or seat, if there is one, has gone, or the connection. After
// a heartbeat period it watches its own znode as well, which an administrator may
// delete; not before, since most waits are shorter, and that is a request each.
func (v *visit) sleep(ctx context.Context, watch *session.Watch, now sight, seat *member) (*pass, error) {
	var empty <-chan struct{}
	if seat != nil {
		w, gone, err := v.watch(ctx, znode.Join(v.m.path, seat.name))
		if err != nil || gone {
			return nil, err
		}
		defer w.Stop()
		empty = w.Done()
	}
	slow := time.NewTimer(v.s.Heartbeat())
	defer slow.Stop()
	for {
		var own <-chan struct{}
		if v.own != nil {
			own = v.own.Done()
		}
		select {
		case <-watch.Done():
			return v.woken(ctx, watch.Event().Type, now)
		case <-empty:
			return nil, nil
		case <-own:
			v.gone = v.own.Event().Type == session.EventDeleted
			v.own = nil
			return nil, nil
		case <-slow.C:
			if v.own != nil {
				continue
			}
			w, gone, err := v.watch(ctx, v.node.Path)
			if err != nil {
				return nil, err
			}
			if v.own = w; gone {
				v.gone = true
				return nil, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// watch watches a znode for its deletion.
func (v *visit) watch(ctx context.Context, path string) (w *session.Watch, gone bool, err error) {
	// A read of data leaves no watch behind on a znode that has gone.
	_, _, w, err = v.s.GetW(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, true, nil
	}
	return w, false, err
}

// woken goes by what the watch on the path saw. As a rule v was let through; a
// read without a watch tells, and leaves nothing on the server to be taken back.
func (v *visit) woken(ctx context.Context, saw session.EventType, now sight) (*pass, error) {
	switch saw {
	case session.EventDeleted:
		if v.spent {
			return nil, nil // maybe that of a path that was made again: the next look tells
		}
		// The record had not changed until then: nobody was let through.
		return nil, errGone
	case session.EventDataChanged:
	default:
		return nil, nil
	}
	data, stat, err := v.s.Get(ctx, v.m.path)
	if err == nil && stat.Czxid < v.node.Stat.Czxid {
		now.record, err = v.m.parse(data, stat)
		if d := decide(now); err == nil && d.act == actPassed {
			v.m.note(now.record, stat)
			return &pass{d.round, now.record.members(d.round)}, nil
		}
	}
	return nil, nil // the next look tells
}
