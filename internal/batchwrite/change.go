package batchwrite

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/fifo"
)

// Change is a change of a znode's data, with a result of type T.
type Change[T any] interface {
	// Blind reports whether the change is made whatever the data is.
	Blind() bool
	// Effect is the effect on now, the state before the change. The Mzxid of now is -1
	// behind another change of the same batch, whose state no client has seen. Effect is called
	// without locks, and again after a lost race.
	Effect(now State) Effect[T]
}

// Effect is the outcome of a change, and the new data if the outcome is OK.
type Effect[T any] struct {
	Outcome[T]
	Data []byte
}

// Outcome is what the caller of a change gets.
type Outcome[T any] struct {
	Value T
	OK    bool // the change was made
	Err   error
	// Declined: Err is that of the caller's own function.
	Declined bool
}

// errLeft is the effect of a change whose caller has left; no caller gets the error.
var errLeft = errors.New("the caller has left")

// op is a change awaited by a caller.
type op[T any] struct {
	change Change[T]
	// ctx is that of the caller.
	ctx context.Context
	// arrival is the op's number among the arrivals; see Batcher.
	arrival uint64

	// The fields below are nil unless the caller's goroutine calls Effect: with the states
	// from turns, whose effects have room in effects. gone is closed once the caller has
	// left.
	turns   chan State
	effects chan Effect[T]
	gone    chan struct{}

	// sent, pending, answered, left and place are guarded by the batcher's mu. sent: the op
	// may have been carried out, or may still be. pending: the session ended over the op.
	// left: the caller did not wait for the answer.
	sent, pending, answered, left bool
	place                         *fifo.Place // in the queue
	// out is written once, before done is closed.
	out  Outcome[T]
	done chan struct{}
}

// Blind implements [Change].
func (o *op[T]) Blind() bool { return o.change.Blind() }

// Effect implements [Change]: the change's own Effect, in the right goroutine.
func (o *op[T]) Effect(now State) Effect[T] {
	if o.turns == nil {
		return o.change.Effect(now)
	}
	select {
	case o.turns <- now:
		return <-o.effects
	case <-o.gone:
		return Effect[T]{Outcome: Outcome[T]{Err: errLeft}}
	}
}
