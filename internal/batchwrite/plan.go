package batchwrite

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// AnyVersion means "any version" to ZooKeeper. It is also the version of a node
// after 2^32-1 changes: then no condition on the version is possible.
const AnyVersion int32 = -1

// ErrVersion: the znode's version is -1, which means "any" to ZooKeeper, so
// a change cannot depend on the value read. Nothing was changed.
var ErrVersion = errors.New("the version is -1, on which no change can depend")

// Plan is the effect of a batch of changes, one after the other, on a state: one write,
// or none.
type Plan[T any] struct {
	// Outcomes are those of the first changes of the batch; the others are for later.
	Outcomes []Outcome[T]
	Writes   bool
	Version  int32 // condition of the write, or AnyVersion
	Data     []byte
	// Author is the index of the change that has made Data; -1 without one.
	Author int
}

// MakePlan has the effects of changes, of which there is at least one, on now. A batch
// that begins with a blind change does not depend on now, except for stepping over
// version -1; see txn. If now's version is -1, no write can depend on now: the batch then
// ends before the first blind change, which begins the next batch.
func MakePlan[C Change[T], T any](now State, changes []C) Plan[T] {
	blind := changes[0].Blind()
	p := Plan[T]{Version: now.Version, Author: -1}
	if blind && now.Version != AnyVersion-1 {
		p.Version = AnyVersion
	}
	frozen := now.Version == AnyVersion && !blind
	for i, c := range changes {
		if frozen && c.Blind() {
			break
		}
		e := c.Effect(now)
		if e.OK && frozen {
			e.Outcome = Outcome[T]{Err: ErrVersion}
		}
		if e.OK {
			now.Data, p.Writes, p.Author = e.Data, true, i
			now.Mzxid = -1 // states seen before are outdated
		}
		p.Outcomes = append(p.Outcomes, e.Outcome)
	}
	if p.Writes {
		p.Data = now.Data
	}
	return p
}

// resolve makes the plan settle the open outcome of an earlier write that depended on
// now's version: the plan then always writes, and depends on the same version.
// Without this condition, a blind change would be made twice if the earlier write, with
// the same change, is still to come. And a failing comparison, whose preceding change in
// the earlier batch was withdrawn, could succeed with the earlier batch.
func (p *Plan[T]) resolve(now State) {
	p.Version = now.Version
	if !p.Writes {
		p.Writes, p.Data = true, now.Data
	}
}

// txn returns the plan's write: of the znode, and of the marker, which tells
// later whether the write was carried out.
func (p *Plan[T]) txn(path, marker string) []session.Op {
	ops := []session.Op{session.SetOp(path, p.Data, p.Version)}
	if p.Version == AnyVersion-1 {
		// The version would become -1, and the next write could not depend on it.
		// No other write comes between the operations of the transaction.
		ops = append(ops, session.SetOp(path, p.Data, AnyVersion))
	}
	return append(ops, session.SetOp(marker, nil, AnyVersion))
}
