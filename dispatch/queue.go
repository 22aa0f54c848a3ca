package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Queue is a client of a queue of tasks: it submits, waits for, cancels and
// inspects tasks.
type Queue struct {
	store
	presence  presence
	occupancy occupancy
	clock     workerClock // for the periods of unique tasks
}

// New makes a client of the queue at path, which is created with its first use.
// New sends nothing; the first call of a method reports an invalid argument. o
// may be nil. Make one Queue and share it: each Queue that submits has a znode of
// its own as long as the session.
func New(client *session.Client, path string, o *Options) *Queue {
	return &Queue{store: newStore(client, path, o)}
}

// Path returns the path argument of [New].
func (q *Queue) Path() string { return string(receiver.OrZero(q).layout) }

// Masters returns the election of the queue's masters, for its methods Leader, Candidates
// and Observe. Do not campaign in the election: a leader that is not a [Master] keeps the
// masters from assigning tasks.
func (q *Queue) Masters() *election.Elector {
	q = receiver.OrZero(q)
	return election.New(q.client, q.at(mastersDir), nil)
}

// store is a queue in ZooKeeper, as all roles use it.
type store struct {
	layout
	client *session.Client
	opts   Options
	err    error // of the arguments
	create *session.CreateOptions
	txs    *stm.Transactor
	reads  *readCombiner
}

func newStore(client *session.Client, path string, o *Options) store {
	st := store{layout: layout(path), client: client, reads: &readCombiner{}}
	st.opts, st.err = o.withDefaults()
	if err := validatePath(path); err != nil {
		st.err = err
	}
	if client == nil {
		st.err = fmt.Errorf("%w: client is nil", ErrInvalidArgument)
	}
	st.create = &session.CreateOptions{ACL: st.opts.ACL}
	st.txs = stm.NewIdempotent(client, path, &stm.Options{MaxConflicts: maxConflicts, Combine: true, ACL: st.opts.ACL})
	return st
}

// checkCall makes the checks that every call makes before it sends a request. A zero value,
// which constructor has not made, has no client.
func (st *store) checkCall(ctx context.Context, constructor string) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("%w: the context is nil", ErrInvalidArgument)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case st.err != nil:
		return st.err
	case st.client == nil:
		return fmt.Errorf("%w: it has no client: make it with %s", ErrInvalidArgument, constructor)
	}
	return nil
}

func (q *Queue) checkCall(ctx context.Context) error { return q.store.checkCall(ctx, "dispatch.New") }

// maxConflicts is the number of successive conflicts after which a call gives up. A
// conflict means that another client was faster, or that the queue's znodes are damaged.
const maxConflicts = 2_000

// ensureCreated creates the queue's folders, unless admission exists: see ensureFolders for
// folders that were deleted later. Repeating ensureCreated changes nothing.
func (st *store) ensureCreated(ctx context.Context, s *session.Session) error {
	r := newReading(ctx, s)
	if r.Exists(st.at(admissionDir)) || r.Err != nil {
		return r.Err
	}
	return st.createFolders(ctx, true)
}

// createFolders creates the missing folders of the queue in one transaction; with all, it
// assumes that all folders are missing.
func (st *store) createFolders(ctx context.Context, all bool) error {
	if err := st.ensurePath(ctx, string(st.layout)); err != nil {
		return err
	}
	limit := cmp.Or(st.opts.MaxTasks, defaultMaxTasks)
	return st.applyTxn(ctx, func(tx *stm.Tx) error {
		nodes, err := st.readOrAssume(tx, all, append(st.folderPaths(folderNames()), st.at(admissionDir))...)
		for _, n := range nodes {
			switch {
			case err != nil || n.Exists:
			case n.Path == st.at(admissionDir):
				err = st.createAdmission(tx, limit)
			default:
				err = tx.Create(n.Path, nil, session.Persistent, st.create)
			}
		}
		return err
	})
}

// createAdmission creates admission and, below it, the znode that marks the queue as open.
func (st *store) createAdmission(tx *stm.Tx, limit int) error {
	data := encode(limits{Format: format, MaxTasks: limit})
	if err := tx.Create(st.at(admissionDir), data, session.Persistent, st.create); err != nil {
		return err
	}
	return tx.Create(st.openPath(), nil, session.Persistent, st.create)
}

// readOrAssume reads znodes; with assume, it takes them for absent as long as no attempt
// has shown otherwise.
func (st *store) readOrAssume(tx *stm.Tx, assume bool, paths ...string) ([]stm.Node, error) {
	for _, path := range paths {
		if !assume {
			break
		}
		if err := tx.Assume(stm.Node{Path: path}); err != nil {
			return nil, err
		}
	}
	return tx.GetAll(paths...)
}

// ensurePath creates a folder and its ancestors, those that are missing.
func (st *store) ensurePath(ctx context.Context, path string) error {
	return st.client.Retry(ctx, func(s *session.Session) error {
		return s.EnsurePath(ctx, path, session.Persistent, st.create)
	})
}

// presence is the node in clients of the present session.
type presence struct {
	// mu guards the next fields: path is the node that belongs to session; "" if
	// none was created yet.
	mu      sync.Mutex
	session *session.Session
	path    string
}

func (d *presence) pathIn(s *session.Session) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session != s {
		return ""
	}
	return d.path
}

// keepPath keeps path as the node of s, unless another call was faster: then the node of
// that call is used, and unwanted is path.
func (d *presence) keepPath(s *session.Session, path string) (use, unwanted string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == s && d.path != "" {
		return d.path, path
	}
	d.session, d.path = s, path
	return path, ""
}

// forgetPath forgets a node that is gone.
func (d *presence) forgetPath(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == path {
		d.path = ""
	}
}

// ensurePresence returns the session's node, and creates it if it does not exist.
func (q *Queue) ensurePresence(ctx context.Context, s *session.Session) (string, error) {
	if path := q.presence.pathIn(s); path != "" {
		return path, nil
	}
	own := q.at(clientsDir, session.ProtectedName("")) // a name that is never used twice
	err := q.applyIn(ctx, s, func(tx *stm.Tx) error { return tx.Create(own, nil, session.Ephemeral, q.create) })
	if errors.Is(err, session.ErrNoNode) {
		if err := q.ensureFolders(ctx); err != nil {
			return "", err
		}
		return "", optimistic.ErrChanged
	}
	if err != nil {
		if errors.Is(err, session.ErrUnknownOutcome) {
			optimistic.DeleteLater(s, own) // the next try has another name
		}
		return "", err
	}
	path, unwanted := q.presence.keepPath(s, own)
	if unwanted != "" {
		optimistic.DeleteLater(s, unwanted)
	}
	return path, nil
}
