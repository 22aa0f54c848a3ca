package workerctl

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// rosterRun keeps a view up to date in one session. It reads in rounds: a round is sent
// when the round before is answered, and has all that is to be read by then. So the changes
// that come while a round is in flight, or during the pause of the state, are read
// together.
type rosterRun struct {
	*rosterView
	s       *session.Session
	inbox   *rosterInbox
	sub     *session.Subscription // nil while there is no persistent watch
	plain   bool                  // there can be none: one-shot watches only
	watches map[watchPlace]*session.Watch
	gen     int  // counts connections
	synced  bool // the sync of this session is answered
	stalled bool // the connection is lost

	// Of the round in flight: it was complete, with all that was known as of asOf.
	complete bool
	asOf     time.Time
	// proofs are begun by rounds with lists, without a persistent watch; ahead: the round has no
	// lists, and did not wait for its turn.
	proofs  []*rosterProof
	ahead   bool
	heard   time.Time // all events up to this time were handled
	sent    time.Time // when the last round was sent
	next    time.Time // the earliest beginning of the next round
	batch   int       // members in a request
	longest int       // bytes of the longest member so far

	// changes counts the changes since the time since. While the roster polls, lists counts
	// the lists, window is the time between the last two, and calm counts the last lists
	// with few changes; compare is when all members are read again at the latest, and
	// compared, unless zero, when the reading that is in progress began.
	changes, lists, calm     int
	since, compare, compared time.Time
	window                   time.Duration
}

// watchPlace identifies a one-shot watch.
type watchPlace struct {
	kind readKind
	id   int
}

// run keeps the view up to date until ctx ends or the view cannot continue.
func (v *rosterView) run(ctx context.Context) (err error) {
	if err := v.beginRun(); err != nil {
		return err
	}
	defer func() { v.end(err) }()
	for {
		s, err := v.job.client.Session(ctx)
		if err == nil {
			err = v.followSession(ctx, s)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// followSession keeps the view up to date in s; it returns nil when s is lost.
func (v *rosterView) followSession(ctx context.Context, s *session.Session) error {
	r := &rosterRun{rosterView: v, s: s, inbox: newRosterInbox(), watches: map[watchPlace]*session.Watch{}, batch: firstBatch}
	v.mu.Lock()
	v.link = &rosterLink{s: s, inbox: r.inbox}
	v.mu.Unlock()
	defer r.close()
	err := r.subscribe(ctx)
	if err == nil {
		r.beginLoad()
		err = r.loop(ctx)
	}
	if ctx.Err() == nil && session.IsSessionLoss(err) {
		return nil
	}
	return err
}

// close frees the watches and requests of the view in the session.
func (r *rosterRun) close() {
	r.mu.Lock()
	r.proveLocked()
	r.link = nil
	r.mu.Unlock()
	if r.sub != nil {
		r.sub.Stop()
	}
	r.inbox.close()
	r.stopWatches()
}

func (r *rosterRun) stopWatches() {
	for at, w := range r.watches {
		w.Stop()
		delete(r.watches, at)
	}
}

// subscribe sets the persistent watch, ahead of all reads. Servers older than 3.6 have
// none, and nor has a path with a watch of the other kind in this session.
func (r *rosterRun) subscribe(ctx context.Context) error {
	r.sub, r.plain = nil, false
	sub, err := r.s.Subscribe(ctx, r.job.run.at(jobformat.DirLive), true, func(ev session.Event) {
		r.inbox.put(rosterItem{kind: persistent, event: ev})
	})
	switch {
	case errors.Is(err, session.ErrUnsupported), errors.Is(err, session.ErrInvalidOption):
		r.plain = true
		return nil
	case err != nil:
		return err
	}
	r.sub = sub
	return nil
}

// beginLoad reads everything, on a connection that may be new. In a new session the first
// reads follow a sync: the server may not know yet what the last server has shown.
func (r *rosterRun) beginLoad() {
	r.stopWatches()
	r.gen++
	r.stalled, r.next, r.proofs = false, time.Time{}, nil
	r.state.beginLoad(r.plain)
	r.mu.Lock()
	r.link.since, r.link.clean = time.Time{}, false
	if r.sub != nil {
		r.link.since = r.job.client.State().Since
	}
	r.mu.Unlock()
	if !r.synced {
		gen := r.gen
		r.s.StartSync(string(r.job.run)).Then(func(_ struct{}, err error) {
			r.inbox.put(rosterItem{kind: readSync, gen: gen, reply: true, err: err})
		})
	}
}

// loop handles what comes until the session is lost or the view cannot continue.
func (r *rosterRun) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Stop()
		if err := r.adapt(ctx); err != nil {
			return err
		}
		pause := r.sendRound()
		if pause > 0 {
			timer.Reset(pause)
		}
		r.inbox.setPatient(pause > 0 || r.state.flying > 0)
		idle := !r.stalled && r.state.idle()
		r.state.loading = r.state.loading && !idle
		r.announce(idle)
		select {
		case <-r.inbox.wake:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.s.Context().Done():
			return context.Cause(r.s.Context())
		}
		// Heard first: the events up to then are among the items.
		r.heard = r.s.LastHeard()
		items, overrun := r.takeItems()
		for i, it := range items {
			if err := r.handle(ctx, it); err != nil {
				releaseWatches(items[i+1:])
				return err
			}
		}
		if overrun {
			r.beginLoad()
		}
	}
}

// takeItems takes the items that have come. From then on the view is not clean.
func (r *rosterRun) takeItems() ([]rosterItem, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.link.clean = false
	return r.inbox.takeItems()
}

func (r *rosterRun) handle(ctx context.Context, it rosterItem) error {
	switch {
	case it.reply:
		return r.onReply(ctx, it)
	case it.event.Type == session.EventSessionOver:
		return r.s.Err()
	case it.kind != persistent:
		return r.onWatch(ctx, it)
	case r.sub == nil: // of a persistent watch that is stopped, or was refused
	case it.event.Type == session.EventReattached:
		r.beginLoad()
	case it.event.Type == session.EventDisconnected:
		// The server of the new connection has refused the persistent watch.
		r.sub.Stop()
		if err := r.subscribe(ctx); err != nil {
			return err
		}
		r.beginLoad()
	default:
		r.changes++
		r.state.onEvent(it.event)
	}
	return nil
}

// onWatch takes the event of a one-shot watch.
func (r *rosterRun) onWatch(ctx context.Context, it rosterItem) error {
	switch {
	case it.event.Type == session.EventDisconnected:
		return r.onLoss(ctx, it.gen)
	case it.gen != r.gen:
	case it.kind == readLive:
		r.state.wantLive = true
	case it.kind == readMembers:
		r.state.wantMembers = true
	case it.kind == readSize:
		r.state.wantJob, r.state.wantMembers = true, true
	case it.kind == readMember:
		r.state.dirty[it.id] = struct{}{}
	}
	return nil
}

// onLoss: the connection of gen is lost. The persistent watch reports the next connection;
// without a persistent watch, the reply to a sync does.
func (r *rosterRun) onLoss(ctx context.Context, gen int) error {
	if gen != r.gen {
		return nil
	}
	r.stalled = true
	r.gen++
	if r.sub != nil {
		return nil
	}
	r.announce(false)
	if err := r.s.Sync(ctx, string(r.job.run)); err != nil {
		return err
	}
	r.synced = true
	if !r.plain {
		if err := r.subscribe(ctx); err != nil {
			return err
		}
	}
	r.beginLoad()
	return nil
}
