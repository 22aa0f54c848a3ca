package session

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// Future is the pending reply to a request. The Start methods of [Session] return
// futures: requests that are started one after the other travel together, and the
// server carries them out in that order. A future belongs to the connection on
// which its request was sent: the request is not retried when that connection is
// lost.
type Future[T any] struct {
	op, path string
	write    bool
	done     chan struct{}

	// mu guards after. value and err are written once, before done is
	// closed, and not changed after.
	mu    sync.Mutex
	after []func(T, error)
	value T
	err   error
}

// Done is closed when the reply has arrived.
func (f *Future[T]) Done() <-chan struct{} {
	f.mustBeMade()
	return f.done
}

// Wait returns the reply. If ctx ends first, the request continues, and its
// outcome is unknown: for a write the error is an [UnknownOutcomeError].
//
// A request that was certainly not sent fails with an error for which [NotSent]
// is true. A write that was sent and lost its connection fails with an
// [UnknownOutcomeError].
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	mustHaveContext(ctx)
	f.mustBeMade()
	if await.Closed(ctx, f.done) != nil {
		var zero T
		return zero, f.fail(endError(ctx), true)
	}
	return f.value, f.err
}

// Then calls fn with the reply: now if the reply has arrived, otherwise on the
// goroutine that reads the connection, which fn must not block.
func (f *Future[T]) Then(fn func(T, error)) {
	f.mustBeMade()
	mustHaveFunction(fn != nil)
	f.mu.Lock()
	f.after = append(f.after, fn)
	f.mu.Unlock()
	select {
	case <-f.done:
		f.runAfter()
	default:
	}
}

func (f *Future[T]) runAfter() {
	f.mu.Lock()
	after := f.after
	f.after = nil
	f.mu.Unlock()
	for _, fn := range after {
		fn(f.value, f.err)
	}
}

func (f *Future[T]) setResult(v T, err error) {
	f.value, f.err = v, err
	close(f.done)
	f.runAfter()
}

// fail names the operation in err; sent says that it may have been carried out.
func (f *Future[T]) fail(err error, sent bool) error {
	if sent && f.write {
		return &UnknownOutcomeError{Op: f.op, Path: f.path, Reason: err}
	}
	return &OpError{Op: f.op, Path: f.path, Err: err}
}

// failOnce is fail for an error that may have named the operation already.
func (f *Future[T]) failOnce(err error) error {
	var op *OpError
	var txn *TxnError
	if errors.As(err, &op) || errors.As(err, &txn) {
		return err
	}
	return f.fail(err, true) // an answer that cannot be read tells no outcome
}

// isAmbiguous reports whether a code says that the server had trouble, and not
// whether it has carried the request out (system errors but for "unimplemented"
// and "bad arguments").
// A transaction says "inconsistency" of the operations that it has not run.
func isAmbiguous(code int32) bool {
	return code < 0 && code > wire.CodeUnimplemented && code != wire.CodeInconsistency || code == codeTimeout
}

// codeTimeout is KeeperException.Code.OPERATIONTIMEOUT.
const codeTimeout int32 = -7

// NotSent reports whether err says that a request was certainly not sent, because
// the session had no connection at that moment. Nothing happened; send the
// request again.
func NotSent(err error) bool { return errors.Is(err, wire.ErrNotSent) }

// Unanswered reports whether err says that the connection was lost before the
// reply came. A read can be sent again.
func Unanswered(err error) bool { return errors.Is(err, wire.ErrUnanswered) }

// request describes one request: the future that its answer settles, and how.
type request[T any] struct {
	op    string // its name in errors
	path  string // the client's path in errors
	code  int32
	write bool
	// firstConnection: only on the connection on which a server made the session.
	firstConnection bool

	body    func(*wire.Encoder)
	decode  func(*wire.Decoder) (T, error)
	refused func(code int32, d *wire.Decoder) (T, error) // instead of the plain error
}

// sentRequest is a future with its request, in one piece of memory.
type sentRequest[T any] struct {
	Future[T]
	request  request[T]
	call     wire.Call
	answered func(error) // reports the answer
}

// start sends r on the present connection.
func start[T any](s *Session, r request[T]) *Future[T] {
	p := &sentRequest[T]{
		Future:   Future[T]{op: r.op, path: r.path, write: r.write, done: make(chan struct{})},
		request:  r,
		answered: s.reports.timed(r.op, r.path, s),
	}
	p.call = wire.Call{Op: r.code, Commits: r.write, FirstConnection: r.firstConnection, Done: p.settleAnswer}
	if err := s.link.Send(&p.call, r.body); err != nil {
		var zero T
		p.setResult(zero, p.fail(err, false))
	}
	return &p.Future
}

// settleAnswer settles the future with the answer.
func (p *sentRequest[T]) settleAnswer(a wire.Answer) {
	v, err := p.read(a)
	p.answered(err)
	p.request, p.call, p.answered = request[T]{}, wire.Call{}, nil // futures are kept for long
	p.setResult(v, err)
}

// read reads the answer.
func (p *sentRequest[T]) read(a wire.Answer) (v T, err error) {
	switch {
	case a.Err != nil:
		return v, p.fail(a.Err, !errors.Is(a.Err, wire.ErrNotSent))
	case isAmbiguous(a.Code):
		return v, p.fail(codeError(a.Code), true)
	case a.Code != wire.CodeOK && p.request.refused != nil:
		return p.request.refused(a.Code, a.Body)
	case a.Code != wire.CodeOK:
		return v, p.fail(codeError(a.Code), false)
	}
	if v, err = p.request.decode(a.Body); err == nil {
		err = a.Body.Err()
	}
	if err != nil {
		err = p.failOnce(err)
	}
	return v, err
}

// failed is a future that never was a request.
func failed[T any](op, path string, err error) *Future[T] {
	f := &Future[T]{op: op, path: path, done: make(chan struct{})}
	var zero T
	f.setResult(zero, f.fail(err, false))
	return f
}

// completedFuture is the future of a request that is not sent.
func completedFuture[T any](op string, v T, err error) *Future[T] {
	f := &Future[T]{op: op, done: make(chan struct{})}
	f.setResult(v, err)
	return f
}

// errMisfit: an answer has other parts than its request.
var errMisfit = errors.New("the server's answer does not fit the request")

// doRequest sends a request until it has an answer. It waits for a connection, within
// ctx and the session's life. A request that was surely not sent is sent
// again; one that may have been is, too, if it only reads. undo, where not nil,
// gets the answer that comes after doRequest has given up.
func doRequest[T any](ctx context.Context, s *Session, op, path string, begin func() *Future[T], undo func(T)) (T, error) {
	s.mustBeUsable(ctx)
	var zero T
	for lost := 0; ; {
		if err := s.awaitConnection(ctx); err != nil {
			return zero, &OpError{Op: op, Path: path, Err: err}
		}
		f := begin()
		v, err := f.Wait(ctx)
		switch {
		case err == nil:
			return v, nil
		case NotSent(err):
			// Between a connection's end and its being told, awaitConnection
			// does not wait: let the teller run.
			runtime.Gosched()
			continue
		case Unanswered(err) && !f.write, errors.Is(err, ErrThrottled):
			if err := s.awaitRepetition(ctx, err, &lost); err != nil {
				return zero, &OpError{Op: op, Path: path, Err: err}
			}
			continue
		case Unanswered(err) && s.link.Ended() != nil:
			return zero, f.fail(s.lossReason(), true)
		}
		if undo != nil {
			f.Then(func(v T, err error) {
				if err == nil {
					undo(v)
				}
			})
		}
		return zero, err
	}
}
