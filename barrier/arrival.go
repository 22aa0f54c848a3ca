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
	members ranges // the numbers of all parties of the round
}

// await waits until v is let through. The error is errGone, errUnknownRelease,
// ErrTooMany, ErrParties, ErrRecord, or the reason for the end of the wait. The
// znode still exists, except after errGone and errUnknownRelease.
func (v *arrival) await(ctx context.Context) (pass, error) {
	for arrival, lost := true, 0; ; arrival = false { // lost: connections, in a row
		r, stat, watch, err := v.readRecord(ctx)
		if err != nil {
			return pass{}, err
		}
		v.spent = watch.Fired()
		now := observation{record: r, count: int(stat.NumChildren), self: v.seq, id: v.id, arrival: arrival, gone: v.gone}
		d := decide(now)
		if d.act == actList {
			d, err = v.listMembers(ctx, now)
		}
		if err == nil {
			var done *pass
			if done, err = v.carryOut(ctx, now, stat, d, watch); done != nil {
				watch.Stop()
				return *done, nil
			}
		}
		watch.Stop() // no effect, and no cost, after the watch has fired
		switch {
		case err == nil:
			lost = 0
		case !v.awaitRetry(ctx, err):
			return pass{}, err
		case session.Unanswered(err):
			// A release that costs the connection each time must not be repeated
			// at the speed of the network. If ctx or the session ends meanwhile,
			// the next read returns that error.
			_ = v.s.BackOff(ctx, lost)
			lost++
		}
	}
}

// awaitRetry reports whether err is only a lost connection, after which v reads again.
func (v *arrival) awaitRetry(ctx context.Context, err error) bool {
	return ctx.Err() == nil && v.s.Err() == nil && (session.NotSent(err) || session.Unanswered(err))
}

// readRecord reads the record, and sets a watch on it. If the path has no record yet,
// readRecord writes an empty record first.
func (v *arrival) readRecord(ctx context.Context) (record, session.Stat, *session.Watch, error) {
	for tries := 0; ; tries++ {
		seen, err := v.readPath(ctx)
		switch {
		case errors.Is(err, session.ErrNoNode):
			return record{}, session.Stat{}, nil, errUnknownRelease
		case err != nil:
			return record{}, session.Stat{}, nil, err
		}
		if seen.Stat.Czxid > v.node.Stat.Czxid {
			// The path was deleted, with v's znode, and created again.
			seen.Watch.Stop()
			return record{}, session.Stat{}, nil, errUnknownRelease
		}
		v.place = creationOf(seen.Stat)
		r, err := v.m.parseRecord(seen.Data, seen.Stat)
		if err != nil {
			seen.Watch.Stop()
			return record{}, session.Stat{}, nil, err
		}
		v.m.noteRecord(r, seen.Stat)
		if len(seen.Data) > 0 {
			return r, seen.Stat, seen.Watch, nil
		}
		_, err = v.s.Set(ctx, v.m.path, r.encode(), seen.Stat.Version)
		seen.Watch.Stop()
		// Another party was faster, or the outcome is unknown: read again.
		if err != nil && !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrNoNode) && !v.awaitRetry(ctx, err) {
			return record{}, session.Stat{}, nil, err
		}
		_ = v.s.BackOff(ctx, tries) // as in await
	}
}

// readPath reads the path with a watch. Its first call returns the read sent
// behind the creation, if any.
func (v *arrival) readPath(ctx context.Context) (session.Seen, error) {
	if first := v.first; first != nil {
		v.first = nil
		return *first, nil
	}
	data, stat, watch, err := v.s.GetW(ctx, v.m.path)
	return session.Seen{Data: data, Stat: stat, Watch: watch}, err
}

// listMembers decides with a listing. The recent rounds are read in the same round trip, since a
// release extends them.
func (v *arrival) listMembers(ctx context.Context, now observation) (decision, error) {
	var old *session.Future[session.Seen]
	if v.m.kind == kindBarrier {
		old = v.s.StartGet(v.m.path+recentRoundsSuffix, false)
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
		v.noRecentRounds = errors.Is(err, session.ErrNoNode)
		if err != nil && !v.noRecentRounds {
			return decision{}, err
		}
		if v.recent, err = parseRecentRounds(seen.Data); err != nil {
			return decision{}, fmt.Errorf("%s: %w", v.m.path+recentRoundsSuffix, err)
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

// carryOut carries out a decision. It returns the pass if v was let through.
// Without a pass and an error, v must read again. watch is the record's.
func (v *arrival) carryOut(ctx context.Context, now observation, stat session.Stat, d decision, watch *session.Watch) (*pass, error) {
	switch d.act {
	case actPassed:
		return &pass{d.round, now.record.members(d.round)}, nil
	case actGone:
		return nil, errGone
	case actUnknown:
		return nil, errUnknownRelease
	case actTooMany:
		return nil, fmt.Errorf("%w: all %d of round %d are inside, this is one more", ErrTooMany, v.m.parties, now.record.Round)
	case actMissing:
		v.gone = true
		return nil, nil
	case actRelease:
		return v.releaseRound(ctx, now.record, stat, d)
	case actSeats:
		return v.awaitChange(ctx, watch, now, &d.seats[int(v.seq)%len(d.seats)])
	}
	return v.awaitChange(ctx, watch, now, nil)
}

// releaseRound lets d's chosen through, in one transaction. The transaction deletes
// or checks every chosen party's znode, which proves that all of them exist at that
// instant: if a party has left or died, nothing happens, and v reads again.
func (v *arrival) releaseRound(ctx context.Context, r record, stat session.Stat, d decision) (*pass, error) {
	next, ops := v.releaseOps(r, stat.Version, d)
	_, err := v.s.Txn(ctx, ops...)
	switch {
	case err == nil:
		v.m.noteRecord(next, stat)
		if next.Released.Contains(v.seq) {
			return &pass{next.Round, next.members(next.Round)}, nil
		}
		return nil, nil
	case errors.Is(err, session.ErrNoNode), errors.Is(err, session.ErrBadVersion), errors.Is(err, session.ErrNodeExists):
		return nil, nil
	}
	return nil, err // after an unknown outcome, the next read of the record tells
}

// releaseOps is the transaction that lets d's chosen through.
func (v *arrival) releaseOps(r record, version int32, d decision) (record, []session.Op) {
	ops := make([]session.Op, 0, len(d.chosen)+len(d.stale)+2)
	seqs := make([]int32, 0, len(d.chosen))
	for _, c := range d.chosen {
		seqs = append(seqs, c.seq)
		path := znode.Join(v.m.path, c.name)
		if v.m.kind == kindDouble {
			ops = append(ops, session.CheckOp(path, -1)) // the znode stays, as a seat
		} else {
			ops = append(ops, session.DeleteOp(path, -1))
		}
	}
	for _, c := range d.stale {
		ops = append(ops, session.DeleteOp(znode.Join(v.m.path, c.name), -1))
	}
	next := r.next(seqs)
	if v.m.kind == kindBarrier {
		ops = append(ops, v.recentRoundsOp(v.recent.next(next.Round, d.chosen)))
	}
	return next, append(ops, session.SetOp(v.m.path, next.encode(), version))
}

func (v *arrival) recentRoundsOp(to recentRounds) session.Op {
	path := v.m.path + recentRoundsSuffix
	if v.noRecentRounds {
		return session.CreateOp(path, to, session.Persistent, &session.CreateOptions{ACL: v.m.opts.ACL})
	}
	return session.SetOp(path, to, -1) // guarded by the version of the record
}

// awaitChange waits until v must read again: the record has changed, the
// connection is lost, or v's znode or the watched seat (nil: none) was deleted.
// After a heartbeat period, awaitChange also watches v's own znode, which an
// administrator may delete. An earlier watch would often be a wasted request.
func (v *arrival) awaitChange(ctx context.Context, watch *session.Watch, now observation, seat *member) (*pass, error) {
	var empty <-chan struct{}
	if seat != nil {
		w, gone, err := v.watchNode(ctx, znode.Join(v.m.path, seat.name))
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
			return v.handleEvent(ctx, watch.Event().Type, now)
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
			w, gone, err := v.watchNode(ctx, v.node.Path)
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

// watchNode watches a znode for its deletion.
func (v *arrival) watchNode(ctx context.Context, path string) (w *session.Watch, gone bool, err error) {
	// A read of data leaves no watch behind on a znode that has gone.
	_, _, w, err = v.s.GetW(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, true, nil
	}
	return w, false, err
}

// handleEvent handles the event of the watch on the path. Usually v was let
// through: a read without a watch finds out, and leaves no watch on the server.
func (v *arrival) handleEvent(ctx context.Context, saw session.EventType, now observation) (*pass, error) {
	switch saw {
	case session.EventDeleted:
		if v.spent {
			return nil, nil // perhaps the path was created again: the next read tells
		}
		// The record had not changed before the deletion: no party was let through.
		return nil, errGone
	case session.EventDataChanged:
	default:
		return nil, nil
	}
	data, stat, err := v.s.Get(ctx, v.m.path)
	if err == nil && stat.Czxid < v.node.Stat.Czxid {
		now.record, err = v.m.parseRecord(data, stat)
		if d := decide(now); err == nil && d.act == actPassed {
			v.m.noteRecord(now.record, stat)
			return &pass{d.round, now.record.members(d.round)}, nil
		}
	}
	return nil, nil // the next read tells
}
