package stm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Options of a [Transactor]; nil and the zero value mean all defaults.
type Options struct {
	// MaxConflicts is the number of consecutive conflicts tolerated by an Apply,
	// at least 1; default: 1,000. The next conflict ends Apply with
	// ErrConflicts.
	MaxConflicts int
	// Queue is called after the first conflict of an Apply, and returns when the
	// caller's turn has come, for example with a lock held. The returned
	// function, which may be nil, is called when Apply ends. Among n writers
	// without a queue, each success costs the others an attempt, n squared
	// attempts in all. An error ends Apply. Default: writers wait for random
	// times. The queue makes transactions cheaper; their exclusion does not
	// depend on it.
	Queue func(ctx context.Context) (leave func(), err error)
	// Combine sends the transactions of concurrent calls of Apply together: calls
	// that have to wait for requests in flight share the next request, up to 64 of
	// them and 128 KiB. Each call keeps its own outcome: a transaction that the
	// servers refuse does not affect the others, and costs up to two requests more. A
	// call usually waits for half a round trip before its own. Default: each transaction
	// is a request.
	Combine bool
	// ACL of the markers and of their folder, and of the znodes created by
	// [Tx.Put]; default: the client's ACL.
	ACL []session.ACL
}

const defaultMaxConflicts = 1000

// Transactor applies transactions. All methods may be called concurrently.
type Transactor struct {
	client *session.Client
	dir    string
	opts   Options
	err    error // an invalid argument of New
	// idempotent: functions recognize their applied attempts, so no marker is
	// needed.
	idempotent bool

	markers  markerPool
	combiner *combiner // nil: each transaction is a request
}

// New returns a Transactor with its markers in the folder dir. The folder is
// created as a container when the first transaction writes. Transactors may
// share a folder, and the paths of transactions may be anywhere. o may be nil.
// New sends no request; invalid arguments are reported by Apply.
func New(client *session.Client, dir string, o *Options) *Transactor {
	t := &Transactor{client: client, dir: dir}
	if o != nil {
		t.opts = *o
	}
	t.opts.ACL = slices.Clone(t.opts.ACL) // the caller may change its slice
	switch err := session.ValidatePath(dir); {
	case err != nil:
		t.err = fmt.Errorf("%w: folder: %w", ErrInvalidArgument, err)
	case dir == "/":
		t.err = fmt.Errorf("%w: folder is the root; it must be below the root", ErrInvalidArgument)
	case client == nil:
		t.err = fmt.Errorf("%w: client is nil", ErrInvalidArgument)
	case t.opts.MaxConflicts < 0:
		t.err = fmt.Errorf("%w: MaxConflicts must be at least 1, or 0 for the default, got %d", ErrInvalidArgument, t.opts.MaxConflicts)
	case t.opts.MaxConflicts == 0:
		t.opts.MaxConflicts = defaultMaxConflicts
	}
	t.markers = markerPool{dir: dir, acl: t.opts.ACL}
	if t.opts.Combine {
		t.combiner = &combiner{}
	}
	return t
}

// NewIdempotent returns a Transactor without markers, for functions that
// recognize an applied earlier attempt by their reads, because the data names the
// writing call, or whose writes may be applied twice. If a reply is lost, Apply
// calls the function again in the same session or in the next one, with reads
// that see the outcome; [Tx.Unanswered] reports this case. Errors name path; no
// znode is created there.
//
// An attempt of a lost session can be applied as long as the servers keep the
// session, unless a znode that the attempt has read has changed. The next call
// of the function must therefore depend on the same znodes. While the attempt
// may still be applied, an error of the function ends Apply with
// session.ErrUnknownOutcome.
//
// Apply of an idempotent Transactor does not send the additional request of the first
// transaction in each session.
func NewIdempotent(client *session.Client, path string, o *Options) *Transactor {
	t := New(client, path, o)
	t.idempotent = true
	return t
}

// Path returns the folder of the markers, or the path argument of
// [NewIdempotent].
func (t *Transactor) Path() string { return receiver.OrZero(t).dir }

// Apply calls f and then carries out all writes requested by f in one
// transaction, on condition that no znode read by f has changed. If a znode has
// changed, Apply calls f again with a new Tx. f must therefore have no effects
// except on its Tx and on variables set again by each call.
//
// Apply returns nil when the writes were applied, exactly once. If f wrote
// nothing, nil means that all reads were true at one moment during the call.
//
// If f returns an error, nothing is written. Apply verifies the reads of f,
// calls f again if they were out of date, and otherwise returns f's error
// unchanged: an error like "the account is empty" was true at one moment during
// the call.
//
// Other errors wrap
//   - ErrGuard, ErrConflicts, ErrVersion or ErrInvalidArgument; nothing was written;
//   - session.ErrNodeExists, ErrNoNode, ErrNotEmpty, ErrNoAuth and the like for
//     a write refused by the server, with its path; nothing was written;
//   - session.ErrUnknownOutcome if ctx ends while the reply to the transaction
//     is missing, or if the session is lost during the transaction and nothing
//     on the servers tells the outcome; see the package documentation;
//   - the error and the cause of ctx, if ctx ends earlier; nothing was written.
//
// Apply retries over lost connections and lost sessions until ctx ends. Without
// interference of other clients, Apply sends a single transaction; the first
// call in each session sends one more request, to create a marker.
func (t *Transactor) Apply(ctx context.Context, f func(tx *Tx) error) error {
	t = receiver.OrZero(t)
	_, err := t.ApplyResults(ctx, f)
	return err
}

// opApply is the operation in errors.
const opApply = "apply"

// ApplyResults is [Transactor.Apply], and returns the server's results of the
// writes, in the order requested by f: paths, and stats of created and set
// znodes. A write that a later write of the same znode replaced has no result.
// The results are nil if f wrote nothing, or if the reply to the transaction
// was lost.
func (t *Transactor) ApplyResults(ctx context.Context, f func(tx *Tx) error) (results []session.Result, err error) {
	t = receiver.OrZero(t)
	if err := holding.Begin(ctx, t.client, "New", t.err, ErrInvalidArgument); err != nil {
		return nil, failure(ctx, opApply, t.dir, err)
	}
	if f == nil {
		return nil, failure(ctx, opApply, t.dir, fmt.Errorf("%w: the function is nil", ErrInvalidArgument))
	}
	began := time.Now()
	r := &run{t: t, f: f}
	err = errPanicked // unless apply returns
	defer func() {
		if to := t.client.Observer(); to != nil {
			to.Observe(ctx, observe.TransactionEnded{Attempts: r.attempts, Unknown: r.unanswered, Took: time.Since(began), Err: err, Declined: r.isDeclined(err)})
		}
	}()
	results, err = r.apply(ctx)
	return results, err
}

// isDeclined reports whether err, with which the call ends, says only how the znodes were:
// by the function, or by the servers, which have refused a write for that. A guard that fails is
// a loss.
func (r *run) isDeclined(err error) bool {
	switch {
	case err == nil, observe.IsContextEnd(err), errors.Is(err, session.ErrUnknownOutcome), errors.Is(err, ErrGuard):
		return false
	case r.own:
		return true
	}
	return errors.Is(err, session.ErrNodeExists) || errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrNotEmpty)
}

// errPanicked is what the observer sees of a transaction whose function panics, or ends
// its goroutine.
var errPanicked = errors.New("the function of the transaction panicked")

// send sends the request of a transaction with writes.
func (t *Transactor) send(ctx context.Context, s *session.Session, tx *Tx, p plan) ([]session.Result, error) {
	if t.combiner == nil {
		return s.Txn(ctx, p.ops...)
	}
	return t.combiner.txn(ctx, s, p.ops, p.sizeOf(tx))
}

// apply makes attempts until the call ends.
func (r *run) apply(ctx context.Context) ([]session.Result, error) {
	defer r.leaveQueue()
	err := r.t.client.Retry(ctx, func(s *session.Session) error { return r.inSession(ctx, s) })
	switch {
	case err != nil && r.pending != nil:
		_ = r.endCall(err, false)
	case err != nil:
		r.verdict, r.own = err, false
	}
	if r.own || r.verdict == nil {
		return r.results, r.verdict
	}
	return nil, failure(ctx, opApply, r.t.dir, r.verdict)
}
