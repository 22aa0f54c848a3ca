package barrier

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// meeting is what [Barrier] and [Double] share: a path where parties meet.
type meeting struct {
	client  *session.Client
	kind    string
	path    string
	parties int
	opts    Options
	err     error // what is wrong with the arguments
	ids     identities

	// mu guards seen, the newest record that was read, of the path with the
	// greatest czxid.
	mu   sync.Mutex
	seen *milestone
}

// milestone is how far a path had come at some moment.
type milestone struct {
	czxid int64 // of the path
	round int64
}

func newMeeting(client *session.Client, kind, path string, parties int, o *Options) *meeting {
	m := &meeting{client: client, kind: kind, path: path, parties: parties}
	m.opts, m.err = o.withDefaults()
	if m.err == nil {
		m.err = validatePlace(client, path)
	}
	switch {
	case m.err != nil:
	case parties < 1:
		m.err = fmt.Errorf("%w: parties is %d; it must be at least 1", ErrArgument, parties)
	case parties > maxRequest, requestSize(parties, client.Chroot()+path, m.opts.ID) > maxRequest:
		m.err = fmt.Errorf("%w: parties is %d; a release of so many does not fit into one request", ErrArgument, parties)
	}
	return m
}

func (m *meeting) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return m.err
}

// identity is the ID of one call, to be given back by forget.
func (m *meeting) identity() string {
	if m.opts.ID != "" {
		return m.opts.ID
	}
	return m.ids.take()
}

// remains notes that a znode of id may still be there, and counted.
func (m *meeting) remains(id string) {
	if m.opts.ID == "" {
		m.ids.leave(id)
	}
}

// visit is a party's stay at the path: its znode in one session. Its methods are
// for one goroutine.
type visit struct {
	m    *meeting
	s    *session.Session
	id   string
	name string // of the znode, without the number
	node session.Node
	seq  int32
	// before is how far the path had come, at least, before the znode did.
	before milestone
	// first is what was read behind the creation; nil: read it.
	first *session.Seen
	// gone: a listing did not have the znode.
	gone bool
	// roll is what a Barrier's roll said at the last listing; noRoll if there
	// was none.
	roll   roll
	noRoll bool
	// spent: the watch of the last read had fired before that was answered. Should it
	// tell of the deletion of a path that was made again since, with v on it, that would
	// be taken for the end of v, whose znode stays, and is let through with nobody to know.
	spent bool
	// own is the watch on the own znode; nil as long as the visit is short.
	own *session.Watch
}

// arrive makes the party's znode in session s. On an error nothing is left
// behind, unless v is not nil: then the znode may have come to be, and it must be
// found out what became of it.
func (m *meeting) arrive(ctx context.Context, s *session.Session, id string) (v *visit, err error) {
	// A party of a Barrier that was let through has no znode any more: one that
	// is missing after a lost answer must not be made again.
	opts := &session.CreateOptions{ACL: m.opts.ACL, Once: m.kind == kindBarrier}
	before, err := m.recall(ctx, s)
	if err != nil {
		return nil, err
	}
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		v := &visit{m: m, s: s, id: id, name: partyName(id), before: before}
		creation := s.StartProtected(znode.Join(m.path, v.name), m.opts.Data, session.EphemeralSequential, opts)
		// Behind the creation: the last to arrive must see all the others.
		first := s.StartGet(m.path, true)
		v.node, err = creation.Wait(ctx)
		if err == nil {
			return v.entered(ctx, first, creation.Direct())
		}
		dropWatch(first)
		switch {
		case ctx.Err() != nil:
			m.remains(id)
			return nil, unknown(v, err)
		case errors.Is(err, session.ErrNoNode):
			// The path was deleted: whatever was before is over.
			if before, err = m.found(ctx, s); err != nil {
				return nil, err
			}
		case s.Err() != nil, errors.Is(err, session.ErrUnknownOutcome):
			return v, err
		default:
			return nil, err
		}
	}
}

// entered completes v, whose znode has come to be.
func (v *visit) entered(ctx context.Context, first *session.Future[session.Seen], direct bool) (*visit, error) {
	seq, err := session.Sequence(v.node.Path)
	if err != nil {
		v.leaveBehind()
		dropWatch(first)
		return nil, err
	}
	v.seq = seq
	if seen, err := first.Wait(ctx); err == nil && direct {
		v.first = &seen
	} else {
		dropWatch(first)
	}
	return v, nil
}

// recall tells how far the path has come at least. The first call asks.
func (m *meeting) recall(ctx context.Context, s *session.Session) (milestone, error) {
	m.mu.Lock()
	seen := m.seen
	m.mu.Unlock()
	if seen != nil {
		return *seen, nil
	}
	return m.found(ctx, s)
}

// found reads how far the path has come, and makes it if there is none.
func (m *meeting) found(ctx context.Context, s *session.Session) (milestone, error) {
	for tries := 0; ; tries++ {
		data, stat, err := s.Get(ctx, m.path)
		switch {
		case errors.Is(err, session.ErrNoNode):
			if err := m.make(ctx, s); err != nil {
				return milestone{}, err
			}
			_ = s.BackOff(ctx, tries) // as in await
			continue
		case err != nil:
			return milestone{}, err
		}
		r, err := m.parse(data, stat)
		if err != nil {
			return milestone{}, err
		}
		m.note(r, stat)
		return milestone{stat.Czxid, r.Round}, nil
	}
}

// make makes the path. That somebody else has made it, or that the answer is lost, and
// maybe the session with it, shows when it is read next.
func (m *meeting) make(ctx context.Context, s *session.Session) error {
	opts := &session.CreateOptions{ACL: m.opts.ACL}
	if !m.opts.InTree {
		return s.EnsurePath(ctx, m.path, session.Persistent, opts)
	}
	_, err := s.Create(ctx, m.path, nil, session.Persistent, opts)
	if errors.Is(err, session.ErrNodeExists) || errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil {
		return nil
	}
	return err
}

// parse reads the record of a barrier like this one, from the path that stat is
// of. No data says that nobody was let through yet.
func (m *meeting) parse(data []byte, stat session.Stat) (record, error) {
	if len(data) == 0 {
		return record{Kind: m.kind, Czxid: stat.Czxid, Parties: m.parties}, nil
	}
	r, err := parseRecord(data)
	if err == nil {
		err = r.accepts(m.kind, m.parties, stat.Czxid)
	}
	return r, err
}

// note remembers how far the path has come.
func (m *meeting) note(r record, stat session.Stat) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil || stat.Czxid > m.seen.czxid || stat.Czxid == m.seen.czxid && r.Round > m.seen.round {
		m.seen = &milestone{stat.Czxid, r.Round}
	}
}

// dropWatch stops the watch of a read that is not wanted any more.
func dropWatch(read *session.Future[session.Seen]) {
	read.Then(func(seen session.Seen, err error) {
		if err == nil && seen.Watch != nil {
			seen.Watch.Stop()
		}
	})
}

// leaveBehind removes the znode without waiting: it goes on until the znode or
// the session has gone.
func (v *visit) leaveBehind() {
	over, cancel := context.WithCancel(v.s.Context())
	cancel()
	_ = v.s.Discard(over, v.node.Path)
	v.m.remains(v.id)
}

// leave removes the znode of a party that must not stay.
func (v *visit) leave(ctx context.Context) {
	if v.s.Discard(ctx, v.node.Path) != nil {
		v.m.remains(v.id)
	}
}

// unknown says that v may have been let through, or not.
func unknown(v *visit, reason error) error {
	op := map[string]string{kindBarrier: "await", kindDouble: "enter"}[v.m.kind]
	return &session.UnknownOutcomeError{Op: op, Path: znode.Join(v.m.path, v.name), Reason: reason}
}
