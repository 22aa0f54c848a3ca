package kubelock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Options of a [Lock]; nil and the zero value mean all defaults.
type Options struct {
	// OnEvent is called with the events of client-go, such as "became leader". It must not
	// block. Default: none.
	OnEvent func(event string)
	// ACL of the znodes; default: the client's. All candidates must be allowed to create,
	// read, write and delete them.
	ACL []session.ACL
}

// Lock implements client-go's resourcelock.Interface, for the type of its record:
// resourcelock.LeaderElectionRecord.
type Lock[Record any] struct {
	client   *session.Client
	e        *election.Elector
	identity string
	opts     Options
	err      error // of an invalid argument

	// mu guards run: the Run in progress; nil if none is.
	mu  sync.Mutex
	run *run
}

// New makes a lock for the election on path, such as "/election/controller". identity is
// unique among the candidates, such as the name of the pod. New sends no request; the first
// call of a method reports an invalid argument. o may be nil.
func New[Record any](client *session.Client, path, identity string, o *Options) *Lock[Record] {
	l := &Lock[Record]{client: client, identity: identity}
	if o != nil {
		l.opts = *o
		l.opts.ACL = slices.Clone(o.ACL)
	}
	l.e = election.New(client, path, &election.Options{ID: identity, ACL: l.opts.ACL})
	switch err := session.ValidatePath(path); {
	case err != nil:
		l.err = fmt.Errorf("%w: path: %w", ErrInvalidArgument, err)
	case path == "/":
		l.err = fmt.Errorf("%w: the path is the root; an election must be below it", ErrInvalidArgument)
	case client == nil:
		l.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	case identity == "":
		l.err = fmt.Errorf("%w: the identity is empty", ErrInvalidArgument)
	}
	return l
}

// check is the first check of every method that can fail.
func (l *Lock[Record]) check(ctx context.Context) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("%w: the context is nil", ErrInvalidArgument)
	case l.err != nil:
		return l.err
	case l.client == nil:
		return fmt.Errorf("%w: it has no client: make it with kubelock.New", ErrInvalidArgument)
	}
	return nil
}

// Get returns the record, and its bytes with the number of its last change, for client-go. A
// record whose leader has ended, or that cannot be read as a record, has no holder, and so
// has a missing one.
func (l *Lock[Record]) Get(ctx context.Context) (*Record, []byte, error) {
	l = receiver.OrZero(l)
	const op = "get the record of"
	err := l.check(ctx)
	out, raw := new(Record), []byte(nil)
	if err == nil {
		err = l.client.Retry(ctx, func(s *session.Session) error {
			record, zxid, err := l.read(ctx, s)
			if err != nil {
				return err
			}
			raw = fmt.Appendf(nil, "%s %d", record, zxid)
			out = new(Record)
			if record != nil && json.Unmarshal(record, out) != nil {
				out = new(Record) // of another type
			}
			return nil
		})
	}
	if err != nil {
		return nil, nil, failure(ctx, op, l.e.Path(), err)
	}
	return out, raw, nil
}

// read reads the record; nil if it is missing, or no record. zxid is that of its last
// change.
func (l *Lock[Record]) read(ctx context.Context, s *session.Session) (record []byte, zxid int64, err error) {
	path := l.e.Path() + recordSuffix
	if err := s.Sync(ctx, path); err != nil {
		return nil, 0, err
	}
	data, stat, err := s.Get(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	r, ok := decodeStored(data)
	if !ok {
		return nil, stat.Mzxid, nil
	}
	candidate, exists, err := s.Exists(ctx, r.candidate)
	if err != nil {
		return nil, 0, err
	}
	if !exists || candidate.Czxid != r.token {
		return released(r.record), stat.Mzxid, nil
	}
	return r.record, stat.Mzxid, nil
}

// Create is Update: client-go calls it for a record that does not exist.
func (l *Lock[Record]) Create(ctx context.Context, record Record) error {
	return receiver.OrZero(l).write(ctx, "create the record of", record)
}

// Update writes the record, within Run. A record with this identity as holder stands in the
// election first, unless this process leads: if another candidate exists, the error wraps
// ErrHeld, and no candidate is left. A record without a holder releases the lock: other
// clients see it, and the leadership is given back at the end of Run. After a loss of the
// leadership the error wraps session.ErrLost, until Run has returned.
func (l *Lock[Record]) Update(ctx context.Context, record Record) error {
	return receiver.OrZero(l).write(ctx, "update the record of", record)
}

func (l *Lock[Record]) write(ctx context.Context, op string, record Record) error {
	err := l.check(ctx)
	if err == nil {
		err = l.tryWrite(ctx, record)
	}
	if err != nil {
		return failure(ctx, op, l.e.Path(), err)
	}
	return nil
}

func (l *Lock[Record]) tryWrite(ctx context.Context, record Record) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("%w: the record has no JSON: %w", ErrInvalidArgument, err)
	}
	holder, err := holderOf(data)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the record's JSON has no %s: %w", ErrInvalidArgument, holderField, err)
	case holder != "" && holder != l.identity:
		return fmt.Errorf("%w: the record's holder is %q, this is %q", ErrInvalidArgument, holder, l.identity)
	}
	r := l.running()
	if r == nil {
		return ErrNotRunning
	}
	lead := r.leadership()
	if lead == nil {
		if holder == "" {
			return ErrHeld // nothing to release
		}
		if lead, err = l.tryLead(ctx, r); err != nil {
			return err
		}
	}
	if lead.Context().Err() != nil {
		return fmt.Errorf("%w; it can be taken again when Run has returned", context.Cause(lead.Context()))
	}
	return l.store(ctx, lead, stored{lead.Token(), lead.Path(), data})
}

// store writes the record on condition that lead leads. It may be repeated.
func (l *Lock[Record]) store(ctx context.Context, lead *election.Leadership, r stored) error {
	path := l.e.Path() + recordSuffix
	for {
		_, err := lead.Session().Txn(ctx, lead.Guard(), session.SetOp(path, r.encode(), -1))
		var refused *session.TxnError
		if !errors.As(err, &refused) || refused.Index != 1 || !errors.Is(refused.Err, session.ErrNoNode) {
			return err
		}
		// The parents exist: they are those of the candidates' folder.
		_, err = lead.Session().Txn(ctx, lead.Guard(), session.CreateOp(path, r.encode(), session.Persistent, &session.CreateOptions{ACL: l.opts.ACL}))
		if !errors.As(err, &refused) || refused.Index != 1 || !errors.Is(refused.Err, session.ErrNodeExists) {
			return err
		}
	}
}

// RecordEvent passes an event of client-go on to OnEvent.
func (l *Lock[Record]) RecordEvent(event string) {
	if l = receiver.OrZero(l); l.opts.OnEvent != nil {
		l.opts.OnEvent(event)
	}
}

// Identity returns the identity argument of [New].
func (l *Lock[Record]) Identity() string { return receiver.OrZero(l).identity }

// Describe names the lock, for logs.
func (l *Lock[Record]) Describe() string {
	l = receiver.OrZero(l)
	if l.e == nil {
		return ""
	}
	return "zookeeper:" + l.e.Path()
}
