package barrier

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// core is the common part of [Barrier] and [Double]: a path where parties meet.
type core struct {
	client  *session.Client
	kind    string
	path    string
	parties int
	opts    Options
	err     error // an invalid argument
	// constructor names the function to call instead; set for a zero value only.
	constructor string
	ids         identities

	// mu guards seen, the round of the newest record read on the newest path.
	mu   sync.Mutex
	seen *milestone
}

// creation identifies one creation of a path, even in an ensemble recreated
// empty, whose zxids begin again. The zero value identifies no creation.
type creation struct{ czxid, ctime int64 }

func creationOf(stat session.Stat) creation { return creation{stat.Czxid, stat.Ctime} }

// milestone is the round reached by a path at some moment.
type milestone struct {
	creation
	round int64
}

func newCore(client *session.Client, kind, path string, parties int, o *Options) *core {
	m := &core{client: client, kind: kind, path: path, parties: parties}
	m.opts, m.err = o.withDefaults()
	if m.err == nil {
		m.err = validatePlace(client, path)
	}
	switch {
	case m.err != nil:
	case parties < 1:
		m.err = fmt.Errorf("%w: parties is %d; it must be at least 1", ErrInvalidArgument, parties)
	case parties > maxRequest, requestSize(parties, client.Chroot()+path, m.opts.ID) > maxRequest:
		m.err = fmt.Errorf("%w: parties is %d; a release of that many parties does not fit into one request", ErrInvalidArgument, parties)
	}
	return m
}

// orZero returns m. For a zero value, whose core is nil, or returns a core that
// refuses every call; the error names constructor.
func (m *core) orZero(constructor string) *core {
	if m == nil {
		return &core{constructor: constructor}
	}
	return m
}

func (m *core) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, m.client, m.constructor, m.err, ErrInvalidArgument)
}

// identity returns the ID of a call.
func (m *core) identity() string {
	if m.opts.ID != "" {
		return m.opts.ID
	}
	return m.ids.reserve()
}

// remains notes that a znode of id may still exist and be counted.
func (m *core) remains(id string) {
	if m.opts.ID == "" {
		m.ids.free(id)
	}
}

// arrival is a party's stay at the path: its znode in one session. Its methods
// must be called by a single goroutine.
type arrival struct {
	m    *core
	s    *session.Session
	id   string
	name string // of the znode, without the number
	node session.Node
	seq  int32
	// before is a round reached by the path before the creation of the znode.
	before milestone
	// place is the path of the znode, after a read of the path in the znode's
	// session.
	place creation
	// first is the read sent behind the creation; nil: read the path.
	first *session.Seen
	// gone: a listing did not have the znode.
	gone bool
	// recent is the recent rounds of a Barrier at the last listing; noRecentRounds: no
	// znode of recent rounds existed then.
	recent         recentRounds
	noRecentRounds bool
	// spent: the watch of the last read had fired before the read was answered.
	// The event may be the deletion of an earlier path, after which the path was
	// created again with v's znode on it. Mistaken for the deletion of v's path,
	// the event would end v's wait while its znode stays and may be let through
	// without v.
	spent bool
	// own is the watch on the own znode; nil as long as the party has not waited for long.
	own *session.Watch
}

// arrive creates the party's znode in session s. With an error and a nil v, no
// znode is left behind. With an error and a v, the znode may have been created,
// and the caller must find out.
func (m *core) arrive(ctx context.Context, s *session.Session, id string) (v *arrival, err error) {
	// A Barrier deletes the znodes of released parties. So a znode missing after
	// a lost reply must not be created again. A znode that a lost session has left
	// tells its number: see arrival.recoverOutcome.
	opts := &session.CreateOptions{ACL: m.opts.ACL, Once: m.kind == kindBarrier, KeepRemains: true}
	before, err := m.recall(ctx, s)
	if err != nil {
		return nil, err
	}
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		v := &arrival{m: m, s: s, id: id, name: barrierformat.PartyName(id), before: before}
		creation := s.StartProtected(znode.Join(m.path, v.name), m.opts.Data, session.EphemeralSequential, opts)
		// Sent behind the creation: the last party to arrive must see all others.
		first := s.StartGet(m.path, true)
		v.node, err = creation.Wait(ctx)
		if err == nil {
			return v.entered(ctx, first, creation.Direct())
		}
		optimistic.StopWatch(first)
		switch {
		case ctx.Err() != nil:
			m.remains(id)
			return nil, unknown(v, err)
		case errors.Is(err, session.ErrNoNode):
			// The path was deleted, and its rounds with it.
			if before, err = m.readMilestone(ctx, s); err != nil {
				return nil, err
			}
		case s.Err() != nil, errors.Is(err, session.ErrUnknownOutcome):
			return v, err
		default:
			return nil, err
		}
	}
}

// entered completes v, whose znode was created.
func (v *arrival) entered(ctx context.Context, first *session.Future[session.Seen], direct bool) (*arrival, error) {
	seq, err := session.Sequence(v.node.Path)
	if err != nil {
		v.leaveBehind()
		optimistic.StopWatch(first)
		return nil, err
	}
	v.seq = seq
	if seen, err := first.Wait(ctx); err == nil && direct {
		v.first = &seen
	} else {
		optimistic.StopWatch(first)
	}
	return v, nil
}

// recall returns a round reached by the path. Only the first call sends a
// request.
func (m *core) recall(ctx context.Context, s *session.Session) (milestone, error) {
	m.mu.Lock()
	seen := m.seen
	m.mu.Unlock()
	if seen != nil {
		return *seen, nil
	}
	return m.readMilestone(ctx, s)
}

// readMilestone reads the round reached by the path, and creates the path if missing.
func (m *core) readMilestone(ctx context.Context, s *session.Session) (milestone, error) {
	for tries := 0; ; tries++ {
		data, stat, err := s.Get(ctx, m.path)
		switch {
		case errors.Is(err, session.ErrNoNode):
			if err := m.createPath(ctx, s); err != nil {
				return milestone{}, err
			}
			_ = s.BackOff(ctx, tries) // as in await
			continue
		case err != nil:
			return milestone{}, err
		}
		r, err := m.parseRecord(data, stat)
		if err != nil {
			return milestone{}, err
		}
		m.noteRecord(r, stat)
		return milestone{creationOf(stat), r.Round}, nil
	}
}

// createPath creates the path. The result is nil also if the path exists, or if
// the outcome is unknown: the caller's next read shows whether the path exists
// and the session lives.
func (m *core) createPath(ctx context.Context, s *session.Session) error {
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

// parseRecord parses the record of a barrier with the kind and parties of m,
// from the path with stat. Empty data means that no party was let through yet.
func (m *core) parseRecord(data []byte, stat session.Stat) (record, error) {
	if len(data) == 0 {
		return record{Kind: m.kind, Czxid: stat.Czxid, Parties: m.parties}, nil
	}
	r, err := parseRecord(data)
	if err == nil {
		err = r.accepts(m.kind, m.parties, stat.Czxid)
	}
	return r, err
}

// noteRecord remembers the round reached by the path.
func (m *core) noteRecord(r record, stat session.Stat) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// A lagging server may show an earlier path. In an ensemble that was recreated empty,
	// the zxids are lower but the time is later.
	now := creationOf(stat)
	if m.seen == nil || now.czxid > m.seen.czxid || now.ctime > m.seen.ctime || now == m.seen.creation && r.Round > m.seen.round {
		m.seen = &milestone{now, r.Round}
	}
}

// leaveBehind deletes the znode without waiting: the deletion is retried in the
// background until the znode or the session has gone.
func (v *arrival) leaveBehind() {
	optimistic.DeleteLater(v.s, v.node.Path)
	v.m.remains(v.id)
}

// leave removes the znode of a party that must not stay.
func (v *arrival) leave(ctx context.Context) {
	if v.s.EnsureDeleted(ctx, v.node.Path) != nil {
		v.m.remains(v.id)
	}
}

// unknown is the error for an unknown outcome of v.
func unknown(v *arrival, reason error) error {
	op := map[string]string{kindBarrier: "await", kindDouble: "enter"}[v.m.kind]
	return &session.UnknownOutcomeError{Op: op, Path: znode.Join(v.m.path, v.name), Reason: reason}
}
