package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// Queue is what clients see of a queue of tasks: they submit, wait, cancel, and
// look on.
type Queue struct {
	store
	desk desk
	fill occupancy
}

// New makes a client of the queue at path, which comes to be when it is first
// used. It does nothing yet; a wrong argument is reported by the first call of a
// method. o may be nil. It is meant to be made once and shared: each that submits has
// a znode of its own as long as the session.
func New(client *session.Client, path string, o *Options) *Queue {
	return &Queue{store: newStore(client, path, o)}
}

// Path is the path that the queue was made with.
func (q *Queue) Path() string { return string(q.layout) }

// store is a queue in ZooKeeper, as all roles use it.
type store struct {
	layout
	client *session.Client
	opts   Options
	err    error // of the arguments
	create *session.CreateOptions
}

func newStore(client *session.Client, path string, o *Options) store {
	st := store{layout: layout(path), client: client}
	st.opts, st.err = o.withDefaults()
	if err := validatePath(path); err != nil {
		st.err = err
	}
	if client == nil {
		st.err = fmt.Errorf("%w: client is nil", ErrArgument)
	}
	st.create = &session.CreateOptions{ACL: st.opts.ACL}
	return st
}

// begin checks what every call checks, before anything is sent.
func (st *store) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return st.err
}

// make makes the queue's folders, unless they are there. Repeating it changes
// nothing: either all of them are made or none.
func (st *store) make(ctx context.Context, s *session.Session) error {
	if _, there, err := s.Exists(ctx, st.at(admissionDir)); err != nil || there {
		return err
	}
	if err := s.EnsurePath(ctx, string(st.layout), session.Persistent, st.create); err != nil {
		return err
	}
	limit := st.opts.MaxTasks
	if limit == 0 {
		limit = defaultMaxTasks
	}
	var ops []session.Op
	for _, dir := range []string{tasksDir, dataDir, resultsDir, aliveDir, workersDir, clientsDir} {
		ops = append(ops, session.CreateOp(st.at(dir), nil, session.Persistent, st.create))
	}
	ops = append(ops,
		session.CreateOp(st.at(admissionDir), encode(limits{format, limit}), session.Persistent, st.create),
		session.CreateOp(st.open(), nil, session.Persistent, st.create))
	_, err := s.Txn(ctx, ops...)
	if errors.Is(err, session.ErrNodeExists) {
		return nil
	}
	return err
}

// makeBucket makes the folders that a task is in. Repeating it changes nothing.
func (st *store) makeBucket(ctx context.Context, s *session.Session, id string) error {
	if err := st.make(ctx, s); err != nil {
		return err
	}
	var ops []session.Op
	for _, dir := range []string{dataDir, resultsDir, tasksDir} {
		ops = append(ops, session.CreateOp(st.at(dir, bucket(id)), nil, session.Persistent, st.create))
	}
	_, err := s.Txn(ctx, ops...)
	if errors.Is(err, session.ErrNodeExists) {
		return nil
	}
	return err
}

// desk is the node in clients of the present session.
type desk struct {
	// mu guards what follows: path is the node that belongs to session, if
	// there is one already.
	mu      sync.Mutex
	session *session.Session
	path    string
}

func (d *desk) get(s *session.Session) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session != s {
		return ""
	}
	return d.path
}

// put keeps path as that of s, unless another call was faster; then that one's
// node is used, and unwanted is path.
func (d *desk) put(s *session.Session, path string) (use, unwanted string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == s && d.path != "" {
		return d.path, path
	}
	d.session, d.path = s, path
	return path, ""
}

// forget forgets a node that is gone.
func (d *desk) forget(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == path {
		d.path = ""
	}
}

// take returns the session's node, and makes it if there is none.
func (q *Queue) take(ctx context.Context, s *session.Session) (string, error) {
	if path := q.desk.get(s); path != "" {
		return path, nil
	}
	n, err := s.CreateProtected(ctx, q.at(clientsDir, session.ProtectedName("")), nil, session.Ephemeral, q.create)
	if errors.Is(err, session.ErrNoNode) {
		if err := q.make(ctx, s); err != nil {
			return "", err
		}
		return "", optimistic.ErrChanged
	}
	if err != nil {
		return "", err
	}
	path, unwanted := q.desk.put(s, n.Path)
	if unwanted != "" {
		if err := s.Discard(ctx, unwanted); err != nil {
			return "", err
		}
	}
	return path, nil
}

// occupancy is what a client knows of how many tasks the buckets have.
type occupancy struct {
	// mu guards what follows: known is how many tasks a bucket had when somebody
	// last looked, and own how many this client has submitted to it since then.
	// bound is how many are too many; asked: somebody has looked at some bucket.
	mu    sync.Mutex
	known [buckets]int32
	own   [buckets]int32
	bound int32
	asked bool
}
