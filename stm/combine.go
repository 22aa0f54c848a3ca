package stm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/session"
)

// combiner sends the transactions of concurrent calls together. A transaction that finds
// few requests in flight is sent at once. Later transactions wait for a reply, and then
// travel as one request. Each transaction has its own outcome, as if it was sent alone:
//
//   - If all operations of the request succeed, so do all transactions.
//   - If an operation fails, nothing was applied. The failure is that of its transaction
//     only if the transaction was the first of its request: an earlier transaction of the
//     request may be the reason. Otherwise the request is cut in two before the failed
//     transaction, and both parts are sent.
//   - If the reply is lost, the outcome of each transaction is unknown.
//   - A request that was not sent, or that failed for another reason, is replaced by one
//     request for each transaction.
type combiner struct {
	// mu guards the fields below: the number of requests without a reply, and the
	// transactions that wait for a request.
	mu     sync.Mutex
	flying int
	queue  []*member
}

// member is a transaction of a combiner.
type member struct {
	ctx  context.Context // the caller waits until its end at most
	s    *session.Session
	ops  []session.Op
	size int // in bytes, about
	// leads: the transaction must be the first of its request; sent: it is part of a
	// request. Both are guarded by combiner.mu.
	leads, sent bool

	// The outcome, written before done is closed. alone: there is none, and the caller
	// must send the transaction by itself.
	done    chan struct{}
	results []session.Result
	err     error
	alone   bool
}

const (
	// maxFlying is how many requests of a combiner are in flight: with fewer, calls would
	// wait longer, and with more, requests would have fewer transactions.
	maxFlying = 2
	// maxMembers is how many transactions a request has at most.
	maxMembers = 64
	// maxCombined is how many bytes the transactions of one request have, about: a
	// longer transaction travels alone.
	maxCombined = 128 << 10
	opBytes     = 64 // of an operation, besides its path and data
)

const opTxn = "transaction"

// txn is s.Txn, for one transaction of size bytes among others.
func (c *combiner) txn(ctx context.Context, s *session.Session, ops []session.Op, size int) ([]session.Result, error) {
	if ctx.Err() != nil || len(ops) == 0 {
		return s.Txn(ctx, ops...)
	}
	m := &member{ctx: ctx, s: s, ops: ops, size: size, done: make(chan struct{})}
	c.mu.Lock()
	c.queue = append(c.queue, m)
	c.mu.Unlock()
	runtime.Gosched() // goroutines that were woken up together send together
	c.sendQueue()
	if cause := await.Closed(ctx, m.done); cause != nil {
		cause = fmt.Errorf("%w: %w", ctx.Err(), cause)
		if c.withdraw(m) {
			return nil, &session.OpError{Op: opTxn, Path: ops[0].Path(), Err: cause}
		}
		return nil, &session.UnknownOutcomeError{Op: opTxn, Path: ops[0].Path(), Reason: cause}
	}
	if m.alone {
		return s.Txn(ctx, ops...)
	}
	return m.results, m.err
}

// withdraw takes a transaction out of the queue that is not part of a request.
func (c *combiner) withdraw(m *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.sent {
		return false
	}
	c.queue = slices.DeleteFunc(c.queue, func(other *member) bool { return other == m })
	return true
}

// sendQueue sends as many requests as may be in flight.
func (c *combiner) sendQueue() {
	for batch := c.takeBatch(); batch != nil; batch = c.takeBatch() {
		n := 0
		for _, m := range batch {
			n += len(m.ops)
		}
		ops := make([]session.Op, 0, n)
		for _, m := range batch {
			ops = append(ops, m.ops...)
		}
		batch[0].s.StartTxn(ops...).Then(func(results []session.Result, err error) {
			c.onReply(batch, results, err)
			c.sendQueue()
		})
	}
}

// takeBatch takes the transactions of the next request out of the queue; nil if none is
// to be sent now. A transaction whose caller has given up is not sent, or not again.
func (c *combiner) takeBatch() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flying >= maxFlying {
		return nil
	}
	c.queue = slices.DeleteFunc(c.queue, func(m *member) bool { return m.ctx.Err() != nil })
	if len(c.queue) == 0 {
		return nil
	}
	n, size := 0, 0
	for _, m := range c.queue {
		size += m.size
		if n > 0 && (m.s != c.queue[0].s || m.leads || n == maxMembers || size > maxCombined) {
			break
		}
		m.sent = true
		n++
	}
	batch := slices.Clone(c.queue[:n])
	c.queue = slices.Delete(c.queue, 0, n)
	c.flying++
	return batch
}

// onReply gives the transactions of a request their outcomes, or puts them back into the
// queue.
func (c *combiner) onReply(batch []*member, results []session.Result, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flying--
	var refused *session.TxnError
	switch {
	case err == nil:
		for _, m := range batch {
			m.end(results[:len(m.ops):len(m.ops)], nil)
			results = results[len(m.ops):]
		}
	case errors.As(err, &refused):
		c.onRefusalLocked(batch, refused)
	case errors.Is(err, session.ErrUnknownOutcome), len(batch) == 1 && !session.NotSent(err):
		for _, m := range batch {
			m.end(nil, err)
		}
	default:
		for _, m := range batch {
			m.alone = true
			close(m.done)
		}
	}
}

func (m *member) end(results []session.Result, err error) {
	m.results, m.err = results, err
	close(m.done)
}

// onRefusalLocked handles the failure of an operation: nothing was applied.
func (c *combiner) onRefusalLocked(batch []*member, refused *session.TxnError) {
	failed, at := 0, refused.Index
	for at >= len(batch[failed].ops) {
		at -= len(batch[failed].ops)
		failed++
	}
	rest := batch
	if failed == 0 {
		own := &session.TxnError{Index: at, Op: refused.Op, Path: refused.Path, Err: refused.Err}
		if n := len(batch[0].ops); len(refused.Results) >= n {
			own.Results = refused.Results[:n:n]
		}
		batch[0].end(nil, own)
		rest = batch[1:]
	} else {
		batch[failed].leads = true
	}
	for _, m := range rest {
		m.sent = false
	}
	c.queue = slices.Concat(rest, c.queue)
}

// sizeOf is about how many bytes a transaction takes.
func (p *plan) sizeOf(tx *Tx) (size int) {
	for _, op := range p.ops {
		size += opBytes + len(op.Path())
	}
	for _, w := range tx.writes {
		size += len(w.data)
	}
	return size
}
