package batchwrite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/fifo"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Batcher is the data of a znode, with the awaited changes of this process's
// goroutines. While one write is in progress, changes gather; the next write
// carries all of them.
type Batcher[T any] struct {
	client *session.Client
	path   string
	o      Options[T]
	err    error // an invalid argument
	// constructor is the missing constructor of a zero value.
	constructor string
	observer    observe.Observer // may be nil

	// mu guards the fields below, and the results of a stock. Invariant: queue has the
	// awaited changes, in the order of their arrival; stop is set exactly while a goroutine
	// is in run, and ends its context; while queue is not empty, a goroutine is in run. A
	// stock has no results while the queue has a change.
	mu       sync.Mutex
	queue    fifo.Queue[*op[T]]
	arrivals uint64
	stop     context.CancelFunc
	tally    tally

	// w belongs to the goroutine in run, at most one at a time.
	w writer[T]
}

// Options of a batcher.
type Options[T any] struct {
	// ACL of the znodes; default: the client's.
	ACL []session.ACL
	// Initial is the data of a missing node; its creation does not change the
	// value.
	Initial []byte
	// Marker ends the names of markers.
	Marker string
	// Stock is set if changes only want results that a write reserves; default: nil.
	Stock Stock[T]
}

// New makes a batcher on path; what names its user in errors, "a counter". New sends no
// request; the first call of a method reports an invalid argument.
func New[T any](client *session.Client, path, what string, o Options[T]) *Batcher[T] {
	o.ACL, o.Initial = slices.Clone(o.ACL), slices.Clone(o.Initial) // the caller may change its slices
	r := &Batcher[T]{client: client, path: path, o: o, observer: client.Observer()}
	r.w.r = r
	if err := session.ValidatePath(path); err != nil {
		r.Refuse(fmt.Errorf("path: %w", err))
	}
	if path == "/" {
		r.Refuse(fmt.Errorf("path is the root; %s must be below it", what))
	}
	if client == nil {
		r.Refuse(errNoClient)
	}
	return r
}

// Missing stands for the batcher of a zero value, whose constructor was not called.
func Missing[T any](constructor string) *Batcher[T] { return &Batcher[T]{constructor: constructor} }

// Refuse lets every call fail because of an invalid argument; the first reason counts.
func (r *Batcher[T]) Refuse(reason error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %w", session.ErrInvalidArgument, reason)
	}
}

// Path is the path argument of [New].
func (r *Batcher[T]) Path() string { return r.path }

// Client is the client argument of [New].
func (r *Batcher[T]) Client() *session.Client { return r.client }

// CheckCall is the first step of every method.
func (r *Batcher[T]) CheckCall(ctx context.Context) error {
	return holding.Begin(ctx, r.client, r.constructor, r.err, session.ErrInvalidArgument)
}

// Change carries c out, together with the other changes in the queue. If ctx ends
// before c was sent, c is taken out of the queue and is never sent; otherwise its
// outcome is unknown to the caller.
func (r *Batcher[T]) Change(ctx context.Context, c Change[T]) (Outcome[T], error) {
	return r.await(ctx, &op[T]{change: c})
}

// ChangeHere is Change; the Effect of c is called by the calling goroutine, and not after
// the return. The other changes wait meanwhile. If Effect panics, c is not made.
func (r *Batcher[T]) ChangeHere(ctx context.Context, c Change[T]) (Outcome[T], error) {
	return r.await(ctx, &op[T]{change: c, turns: make(chan State), effects: make(chan Effect[T], 1), gone: make(chan struct{})})
}

// await awaits the outcome of o.
func (r *Batcher[T]) await(ctx context.Context, o *op[T]) (Outcome[T], error) {
	if err := r.CheckCall(ctx); err != nil {
		return Outcome[T]{}, err
	}
	o.ctx, o.done = ctx, make(chan struct{})
	if v, ok := r.enqueue(o); ok {
		return Outcome[T]{Value: v}, nil
	}
	for {
		select {
		case <-o.done:
			return o.out, o.out.Err
		case now := <-o.turns:
			r.takeTurn(o, now)
		case <-ctx.Done():
			return r.withdraw(ctx, o)
		}
	}
}

// enqueue enters o, unless a result is in stock.
func (r *Batcher[T]) enqueue(o *op[T]) (v T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.Stock != nil && r.queue.Len() == 0 {
		if v, ok = r.o.Stock.Take(); ok {
			return v, true
		}
	}
	r.arrivals++
	o.arrival = r.arrivals
	o.place = r.queue.Push(o)
	if r.stop == nil {
		var run context.Context
		run, r.stop = context.WithCancel(context.WithoutCancel(o.ctx))
		r.beginBatchLocked()
		// The callers in the queue wait for the goroutine, which depends on none
		// of them. The goroutine ends when the last caller was answered or has
		// left, and the sent requests are answered or the session has ended; at
		// the latest when the client is closed.
		go r.run(run)
	}
	return v, false
}

// takeTurn calls the Effect of o. If Effect panics, or ends its goroutine, the caller has
// left.
func (r *Batcher[T]) takeTurn(o *op[T], now State) {
	e, returned := Effect[T]{Outcome: Outcome[T]{Err: errLeft}}, false
	defer func() {
		if !returned {
			r.mu.Lock()
			r.leaveLocked(o, errLeft)
			r.mu.Unlock()
		}
		o.effects <- e // has room
	}()
	e = o.change.Effect(now)
	returned = true
}

// withdraw takes o, whose caller goes, out of the queue.
func (r *Batcher[T]) withdraw(ctx context.Context, o *op[T]) (Outcome[T], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.answered {
		return o.out, o.out.Err
	}
	err := holding.EndOf(ctx)
	if o.sent && r.o.Stock == nil { // a result reserved for a caller that has left is skipped
		err = unknownOutcome(r.path, err)
	}
	r.leaveLocked(o, err)
	return Outcome[T]{}, err
}

// leaveLocked takes o, whose caller goes with err, out of the queue.
func (r *Batcher[T]) leaveLocked(o *op[T], err error) {
	r.queue.Remove(o.place)
	if r.queue.Len() == 0 {
		r.stop() // no caller waits any more
	}
	o.left = true
	if o.gone != nil {
		close(o.gone)
	}
	r.countLeftLocked(o, err)
}

// run carries out the changes in the queue until it is empty. With an observer, run
// reports each batch that ends; the next batch is then carried out by another goroutine.
func (r *Batcher[T]) run(ctx context.Context) {
	values := context.WithoutCancel(ctx)
	for {
		err := r.w.writeRound(ctx)
		r.mu.Lock()
		if err != nil && ctx.Err() == nil {
			r.refuseLocked(err)
		}
		report, empty := r.endBatchLocked(), r.queue.Len() == 0
		switch {
		case empty:
			r.stop()
			r.stop = nil
		case ctx.Err() != nil:
			// New callers have come since the last caller left. Not a child of
			// ctx: during a long outage the contexts would become a long chain.
			ctx, r.stop = context.WithCancel(values)
		}
		r.mu.Unlock()
		if report != nil {
			if !empty {
				// Ends like this goroutine, which cannot go on: the observer may be
				// slow, or wait for a change of this znode.
				go r.run(ctx)
			}
			report()
			return
		}
		if empty {
			return
		}
	}
}

// errNoClient is the reason of a batcher without a client.
var errNoClient = errors.New("client is nil")
