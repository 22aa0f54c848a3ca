package session

import (
	"context"
	"fmt"
	"slices"
)

// kindAll is the kind of an AllOf, which no server knows: the request has its checks.
const kindAll int32 = -3

// AllOf returns one check that stands for several: the transaction passes only if all
// of checks do. It is the guard of a hold that consists of several znodes. In
// [TxnError.Index] and in the results, it counts as one operation. All of checks must be
// checks ([Op.IsCheck]), and there must be one at least.
func AllOf(checks ...Op) Op {
	op := Op{kind: kindAll, all: slices.Clone(checks)}
	if len(checks) > 0 {
		op.path = checks[0].path
	}
	return op
}

// While returns o for transactions that begin before ctx ends, such as the context of
// a hold. A later transaction fails as if the znode of o did not exist: with a
// [TxnError] that wraps ErrNoNode, and without a request.
//
// The context alone does not tell whether a request that was sent before its end is
// carried out before its end: o itself has to fail at the server in time. See [Op.In].
func (o Op) While(ctx context.Context) Op {
	mustHaveContext(ctx)
	o.while = append(slices.Clip(o.while), ctx)
	return o
}

// In returns o for transactions of s. A transaction of another session fails with
// ErrInvalidArgument, and without a request; or, after the loss of s, as in [Op.While].
//
// In is for checks of an ephemeral znode whose name other clients may use later: no
// request of s is carried out after the servers have ended s, so that it cannot meet
// another client's znode.
func (o Op) In(s *Session) Op {
	s.mustBeMade()
	o.in = s
	return o
}

// condition checks o's conditions, before anything is sent in s. refused is the reason
// why the hold that o is the guard of has ended.
func (o Op) condition(s *Session) (refused, invalid error) {
	for _, ctx := range o.while {
		if ContextErr(ctx) != nil {
			return context.Cause(ctx), nil
		}
	}
	switch {
	case o.in == nil || o.in == s:
		return nil, nil
	case o.in.Err() != nil:
		return o.in.Err(), nil
	}
	return nil, fmt.Errorf("%w: the operation is for session %#x alone, and was sent in session %#x", ErrInvalidArgument, o.in.ID(), s.ID())
}

// partList is the list of operations of a transaction, and the requests that are sent
// for them.
type partList struct {
	ops   []Op
	parts []Op
	at    []int // the position in ops of each part
	// refused is the failure of the first operation whose hold has ended.
	refused *TxnError
}

// add appends what is sent in s for op, which is ops[at] or a check of it.
func (l *partList) add(s *Session, at int, op Op) error {
	refused, err := op.condition(s)
	switch {
	case err != nil:
		return err
	case refused != nil && l.refused == nil:
		l.refused = l.failure(at, op, &endedHold{refused})
	}
	if op.kind != kindAll {
		op, err = s.checkOp(op)
		l.parts, l.at = append(l.parts, op), append(l.at, at)
		return err
	}
	if !op.IsCheck() {
		return fmt.Errorf("%w: AllOf needs at least one operation, and only checks", ErrInvalidArgument)
	}
	for _, part := range op.all {
		if err := l.add(s, at, part); err != nil {
			return err
		}
	}
	return nil
}

// failure is that of part, which was sent for ops[at].
func (l *partList) failure(at int, part Op, err error) *TxnError {
	results := make([]Result, len(l.ops))
	for i := range results {
		results[i].Err = ErrNotRun
	}
	results[at].Err = err
	return &TxnError{Index: at, Op: part.name(), Path: part.path, Err: err, Results: results}
}

// endedHold is ErrNoNode of a check whose hold has ended, as far as this process knows.
// It does not unwrap to the reason: the loss of the hold is not that of the session that
// the transaction is for, after which a caller would retry the transaction.
type endedHold struct{ reason error }

func (e *endedHold) Error() string {
	return fmt.Sprintf("no request was sent, since the hold of the guard has ended: %v", e.reason)
}

func (e *endedHold) Unwrap() error { return ErrNoNode }
