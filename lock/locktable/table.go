package locktable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Table is a folder of locks, each with a name. An [Owner] holds any number of them.
type Table struct {
	client *session.Client
	path   string
	opts   Options
	err    error // an invalid argument of New
}

// New makes a table on path, whose children are the locks. New sends nothing; the first
// call of a method reports an invalid argument. o may be nil.
func New(client *session.Client, path string, o *Options) *Table {
	t := &Table{client: client, path: path}
	t.opts, t.err = o.withDefaults(path)
	if err := session.ValidatePath(path); err != nil {
		t.err = err
	}
	if t.err == nil && path == "/" {
		t.err = fmt.Errorf("%w: the path is the root; a table must be below it", ErrInvalidArgument)
	}
	if t.err == nil && client == nil {
		t.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	}
	return t
}

// Path returns the path argument of [New].
func (t *Table) Path() string { return receiver.OrZero(t).path }

func (t *Table) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, t.client, "locktable.New", t.err, ErrInvalidArgument)
}

// lockPath is the path of the lock name.
func (t *Table) lockPath(name string) string { return znode.Join(t.path, name) }

func (t *Table) createOptions() *session.CreateOptions {
	return &session.CreateOptions{ACL: t.opts.ACL}
}

// Join creates an ephemeral znode for a new owner, and the folders of the table
// if they are missing. All locks of the owner are lost together, with this
// znode or with its session. If the session is lost during the call, Join begins
// again in the next session. ctx bounds the call; when ctx ends, no owner is left
// behind.
func (t *Table) Join(ctx context.Context) (*Owner, error) {
	t = receiver.OrZero(t)
	const op = "join"
	if err := t.checkCall(ctx); err != nil {
		return nil, failure(ctx, op, t.path, err)
	}
	for {
		s, err := t.client.Session(ctx)
		if err != nil {
			return nil, failure(ctx, op, t.path, err)
		}
		hold, err := t.createOwner(ctx, s)
		switch {
		case err == nil:
			o := newOwner(t, hold)
			o.joined = true
			return o, nil
		case ctx.Err() != nil || s.Err() == nil:
			return nil, failure(ctx, op, t.path, err)
		}
		// The session was lost on the way, and with it the znode.
	}
}

// createOwner creates an owner's znode.
func (t *Table) createOwner(ctx context.Context, s *session.Session) (*session.Hold, error) {
	_, exists, err := s.Exists(ctx, t.path) // a read: all but the first owner find the folder
	if err == nil && !exists {
		err = s.EnsurePath(ctx, t.path, session.Persistent, t.createOptions())
	}
	if err != nil {
		return nil, err
	}
	for {
		node, err := s.CreateProtected(ctx, znode.Join(t.opts.Owners, znode.Protected(tableformat.OwnerBase)), []byte(t.opts.ID), session.Ephemeral, t.createOptions())
		if errors.Is(err, session.ErrNoNode) {
			// The folder is missing, or has just gone: an empty container may.
			if err := s.EnsurePath(ctx, t.opts.Owners, session.Container, t.createOptions()); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		hold, err := s.Hold(ctx, node.Path, nil)
		if err != nil {
			optimistic.DeleteLater(s, node.Path)
			return nil, err
		}
		return hold, nil
	}
}

// OwnedBy makes an owner of an ephemeral znode held by the caller. The znode
// must be a child of [Options.Owners], with a name accepted by
// [Options.OwnerName]. All locks of the owner are lost with hold. OwnedBy sends
// no request, and creates no folder. Make only one Owner of a znode: two Owners
// would mistake each other's locks for their own.
func (t *Table) OwnedBy(hold *session.Hold) (*Owner, error) {
	t = receiver.OrZero(t)
	err := t.err
	switch {
	case err != nil:
	case t.client == nil:
		err = holding.NoClient("locktable.New", ErrInvalidArgument)
	case hold == nil:
		err = fmt.Errorf("%w: the hold is nil", ErrInvalidArgument)
	case znode.Parent(hold.Path()) != t.opts.Owners || !t.opts.OwnerName(znode.Base(hold.Path())):
		err = fmt.Errorf("%w: %s is not the znode of an owner in %s", ErrInvalidArgument, hold.Path(), t.opts.Owners)
	default:
		return newOwner(t, hold), nil
	}
	return nil, fmt.Errorf("locktable: join %s: %w", t.path, err)
}

// Entry is the state of a lock.
type Entry struct {
	Name string
	// Owner is the name of the holder's znode in the folder of the owners; "" if no
	// client holds the lock, or if Err says why the holder is not known.
	Owner string
	// Token is what [Held.Token] returns to the holder. Since is the time of the last
	// change, by the servers' clock. Both are zero for a lock without a znode.
	Token int64
	Since time.Time
	// Err wraps ErrRecord if the data is not a record of a known format. No client
	// takes such a lock.
	Err error
}

// Entry makes sense of the data and the stat of the znode of the lock name. Entry sends
// nothing, and does not know whether the owner exists.
func (t *Table) Entry(name string, data []byte, stat session.Stat) Entry {
	t = receiver.OrZero(t)
	return t.parseEntry(name, session.Seen{Data: data, Stat: stat, Exists: true}).Entry
}

// Entries lists the locks that have a znode, by name. Owners that have gone are
// not reported. Entries are plain reads: their state may be past, except that a
// majority of the servers has confirmed an empty list.
func (t *Table) Entries(ctx context.Context) ([]Entry, error) {
	t = receiver.OrZero(t)
	const op = "list"
	if err := t.checkCall(ctx); err != nil {
		return nil, failure(ctx, op, t.path, err)
	}
	var out []Entry
	err := t.client.Retry(ctx, func(s *session.Session) (err error) {
		out, err = t.listEntries(ctx, s)
		return err
	})
	if err != nil {
		return nil, failure(ctx, op, t.path, err)
	}
	return out, nil
}

// listNames lists the names of the locks, sorted. An empty list is confirmed by a
// majority: a server that lags behind would deny locks that exist.
func (t *Table) listNames(ctx context.Context, s *session.Session) (names []string, err error) {
	read := func() error {
		names, _, err = s.Children(ctx, t.path)
		if errors.Is(err, session.ErrNoNode) {
			err = nil
		}
		return err
	}
	if err = read(); err == nil && len(names) == 0 {
		err = s.ReadFresh(ctx, t.path, read)
	}
	slices.Sort(names)
	return names, err
}

func (t *Table) listEntries(ctx context.Context, s *session.Session) ([]Entry, error) {
	names, err := t.listNames(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for part := range batches.OfNames(names) {
		entries, err := t.readLocks(ctx, s, part, false)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.exists {
				out = append(out, e.Entry)
			}
		}
	}
	// First the locks, then the owners: a missing owner has gone.
	r := optimistic.Reading{Ctx: ctx, Session: s}
	owners := r.List(t.opts.Owners)
	if r.Err != nil {
		return nil, r.Err
	}
	present := make(map[string]bool, len(owners))
	for _, name := range owners {
		present[name] = true
	}
	for i := range out {
		if !present[out[i].Owner] {
			out[i].Owner = ""
		}
	}
	return out, nil
}
